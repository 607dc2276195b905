"""Name the files that build tools, test runners and servers obey, and no word that is none."""

import shlex

import pytest

from core.planning.code.words.arguments import code_words, entered
from core.planning.code.words.option_files import configured_by
from core.programs.profiles.tables import table, words
from tests.support.tables import rows

NAMED = """
npx vitest --workspace=x.ts                         | x.ts
npx jest --setupFilesAfterEnv ./x.js                | ./x.js
npx jest --reporters=./x.js                         | ./x.js
npx mocha -R ./x.js                                 | ./x.js
npx mocha -n require=./x.js                         | ./x.js
npx eslint -f ./x.js src                            | ./x.js
npx stylelint --custom-formatter ./x.js src         | ./x.js
npx postcss a.css -u ./x.js                         | ./x.js
bundle exec irb -r./x.rb                            | ./x.rb
npx jscodeshift -t x.js src                         | x.js
npx typeorm migration:run -d x.ts                   | x.ts
npx rollup -p ./x.js a.js                           | ./x.js
npx semantic-release -e ./x.js                      | ./x.js
npx hardhat run scripts/x.js                        | scripts/x.js
npx nyc node x.js                                   | x.js
npx c8 --reporter=text node x.js                    | x.js
yarn jest --reporters ./x.js                        | ./x.js
pnpm -s vitest -c x.ts                              | x.ts
node node_modules/jest/bin/jest.js --config x.js    | x.js
npx cross-env A=1 node x.js                         | x.js
npx dotenvx run -f .env -- node x.js                | x.js
nodemon --watch src x.js                            | x.js
pytest -p x                                         | x.py
pytest -vpx.y                                       | x/y.py
pytest -o addopts='-q -p x'                         | x.py
as @x.txt                                           | x.txt
x86_64-linux-gnu-as -g @x.txt                       | x.txt
windres @x.txt                                      | x.txt
mold -run @x.txt                                    | x.txt
clang-cl @x.txt                                     | x.txt
javadoc @x.txt                                      | x.txt
jar @x.txt                                          | x.txt
swiftc @x.txt                                       | x.txt
csc @x.txt                                          | x.txt
tsc @x.txt                                          | x.txt
doxygen x.conf                                      | x.conf
dc x.dc                                             | x.dc
dc -f x.dc                                          | x.dc
rpmbuild -ba x.spec                                 | x.spec
sysctl -p x.conf                                    | x.conf
sysctl --load=x.conf                                | x.conf
tc -batch x.txt                                     | x.txt
tc -force -b x.txt                                  | x.txt
telegraf --config x.conf --test                     | x.conf
vector -c x.yml                                     | x.yml
r2 -q -i x.r2 a.out                                 | x.r2
msfconsole -q -r x.rc                               | x.rc
makepkg -p x.sh                                     | x.sh
xmake -F x.lua                                      | x.lua
premake5 --file=x.lua gmake2                        | x.lua
cppcheck --addon=x.py src                           | x.py
msmtp -C x.rc a                                     | x.rc
mbsync -c x.rc -a                                   | x.rc
fetchmail -f x.rc                                   | x.rc
mutt -F x.rc                                        | x.rc
mlr --icsv put -f x.mlr a.csv                       | x.mlr
brew bundle --file=x.rb                             | x.rb
mysqldump --defaults-file=x.cnf db                  | x.cnf
qemu-system-x86_64 -readconfig x.cfg                | x.cfg
pytest @x.txt                                       | x.txt
pytest --cov-config=x.cfg                           | x.cfg
pylint --load-plugins=a.b,x src                     | x.py a/b.py
django-admin check --settings=a.x                   | a/x.py
inv -c x build                                      | x.py
uv run -m x                                         | x.py
uv run --with y -s x                                | x
coverage run --branch -m x                          | x.py
python3 -m debugpy --listen 1 x.py                  | x.py
python3 -m robot x.robot                            | x.robot
python3 -m pre_commit run -c x.yml                  | x.yml
flask --app x.py:app run                            | x.py
streamlit run x.py                                  | x.py
torchrun --nproc-per-node 2 x.py                    | x.py
twistd -ny x.py                                     | x.py
manim x.py Scene                                    | x.py
clickhouse-client --queries-file x.sql              | x.sql
cockroach sql -f x.sql                              | x.sql
osascript x.scpt                                    | x.scpt
robot --listener=x.py:a suite                       | x.py
hypercorn -c file:x.py a:b                          | x.py
jupyter nbconvert --execute x.ipynb                 | x.ipynb
ansible-playbook a.yml x.yml                        | a.yml x.yml
ansible-playbook --vault-id a@x.sh a.yml            | x.sh
ansible-playbook -e @x.json a.yml                   | x.json
kubectl apply -f=x.yml                              | x.yml
kubectl apply -f a.yml,x.yml                        | a.yml x.yml
docker stack deploy -c x.yml s                      | x.yml
helm upgrade a b --values x.yml                     | x.yml
task -tx.yml build                                  | x.yml
ant -file x.xml                                     | x.xml
mvn -gs x.xml test                                  | x.xml
bmake -f x.mk                                       | x.mk
cargo -Zscript x.rs                                 | x.rs
stack --stack-yaml=x.yml build                      | x.yml
java -cp a:x.jar Main                               | x.jar
java -Dlogback.configurationFile=x.xml -jar a.jar   | x.xml a.jar
php --define auto_prepend_file=x.php a.php          | x.php a.php
ruby -E UTF-8 x.rb                                  | x.rb
racket -r x.rkt                                     | x.rkt
bundle exec irb -r ./x.rb                           | ./x.rb
bundle exec rspec -O x.txt                          | x.txt
gjs x.js                                            | x.js
R CMD BATCH x.R                                     | x.R
psql -1f x.sql                                      | x.sql
psql -X1qAtf x.sql db                               | x.sql
ssh -46F x.conf host                                | x.conf
curl -sS#4K x.rc                                    | x.rc
tmux -2uf x.conf new                                | x.conf
ssh -vvvvvvvvvvvvvvvvvvvvvF x.conf host             | x.conf
vim -esu x.vim                                      | x.vim
nvim -l x.lua                                       | x.lua
jbang -o x.java                                     | x.java
fastify start -o x.js                               | x.js
fastify start --logging-module=./x.js a.js          | ./x.js a.js
npx jest --global-setup ./x.js                      | ./x.js
npx jest --setup-files-after-env=./x.js             | ./x.js
npx jest --setupFiles ./a.js ./x.js --watch         | ./a.js ./x.js
npx jest --config '{"reporters":["./x.js"]}'        | ./x.js
npx webpack -c a.js x.js                            | a.js x.js
npx postcss a.css -u autoprefixer ./x.js            | ./x.js
npx stylelint --customSyntax ./x.js                 | ./x.js
npx vitest --typecheck.checker ./x.ts               | ./x.ts
npx karma start x.js                                | x.js
npx newman run x.json                               | x.json
npx jest@29 -c x.js                                 | x.js
yarn run jest -c x.js                               | x.js
node node_modules/mocha/bin/_mocha -r ./x.js        | ./x.js
bundle exec rspec --req ./x.rb                      | ./x.rb
sidekiq --r ./x.rb                                  | ./x.rb
phpunit --boo ./x.php                               | ./x.php
pytest -o addopts='-p x -p y'                       | x.py y.py
uvx pytest@8 -p x                                   | x.py
hatch run test:pytest -p x                          | x.py
flask --app x run                                   | x.py
uvicorn x:app --reload                              | x.py
gunicorn -w 4 x.y:app                               | x/y.py
gunicorn -k x.Worker a:b                            | x.py
celery -A x worker                                  | x.py
django-admin check --sett x                         | x.py
robot --listener x suite                            | x.py
torchrun -m x                                       | x.py
scalene run x.py                                    | x.py
snakemake --configfile a.yml x.yml                  | a.yml x.yml
ansible-playbook -e@x.yml a.yml                     | x.yml
sbatch --wrap 'sh x.sh'                             | x.sh
nix-shell x.nix                                     | x.nix
scala-cli x.sc                                      | x.sc
emacs --batch -l x.el                               | x.el
clang --config x.cfg a.c                            | x.cfg
java -javaagent:x.jar -jar a.jar                    | x.jar
nodemon -e ts x.js                                  | x.js
nodemon --exec 'ts-node x.ts'                       | x.ts
php -e x.php                                        | x.php
lua -v x.lua                                        | x.lua
lua -e 1 x.lua                                      | x.lua
guile -e main x.scm                                 | x.scm
expect -c 'set a 1' x.exp                           | x.exp
gunicorn -c python:x a:b                            | x.py
gunicorn --config=python:a.x a:b                    | a/x.py
gunicorn -cpython:x a:b                             | x.py
gunicorn -w 4 a.x                                   | a/x.py
python3 -m gunicorn x                               | x.py
hypercorn -c python:x a:b                           | x.py
celery -A a worker --include x                      | x.py
celery -A a worker -Ix                              | x.py
rq worker -c x                                      | x.py
python3 -m rq.cli worker -c x                       | x.py
dramatiq a.x                                        | a/x.py
arq x.WorkerSettings                                | x.py
huey_consumer.py x.huey                             | x.py
taskiq worker x:broker                              | x.py
granian --interface asgi x:app                      | x.py
sanic x.app                                         | x.py
quart --app x run                                   | x.py
waitress-serve --call x:create                      | x.py
waitress-serve --app=x:app                          | x.py
uwsgi --http :8000 --module x:app                   | x.py
uwsgi --ini x.ini                                   | x.ini
uwsgi x.ini                                         | x.ini
pserve x.ini                                        | x.ini
ipython --ext x                                     | x.py
python3 -m ipdb -m x                                | x.py
python3 -m pudb x.py                                | x.py
python3 -m torch.distributed.run -m x               | x.py
gem build x.gemspec                                 | x.gemspec
puma x.ru                                           | x.ru
dotnet build a/x.csproj                             | a/x.csproj
rustc --extern x=libx.so a.rs                       | libx.so
sbcl --core x --script a.lisp                       | x
bb -f x                                             | x
nix-env -f x -iA y                                  | x
guix system build x.scm                             | x.scm
puppet apply x.pp                                   | x.pp
chef-client -zr x.rb                                | x.rb
symfony php x.php                                   | x.php
npx codeceptjs run --config x.js                    | x.js
npx some-tool --require ./x.js                      | ./x.js
"""
PLAIN = """
docker rm -f web
docker logs -f web
docker compose logs -f web
docker ps -f name=x
kubectl logs -f deploy/web
kubectl apply -f -
kubectl apply -f https://example.com/x.yml
npx playwright test --reporter=list
npx vitest run --environment jsdom
npx vitest --run
npx mocha -r ts-node/register
npx mocha --require esm
npx nyc --reporter text npm test
npx prettier --plugin prettier-plugin-tailwindcss --check .
bundle exec rspec --require spec_helper
bundle exec rubocop --require rubocop-rails
ansible -i localhost, all -m ping
cargo --config net.offline=true build
coverage run -m pytest
pytest -p no:cacheprovider --co
bundle exec rubocop -a x.rb
npx prettier -c x.ts
npx prettier -u --write x.ts
npx vitest -u x.test.ts
npx jest -u -f x.test.js
phpcs -n x.php
drush -l example.com status
docker inspect -f '{{.State.Status}}' web
npx jest --reporters default jest-junit
npx jest --coverageReporters text lcov
npx playwright test --project chromium
bundle exec rspec --f d
phpcs --standard=PSR12 -n a.php
vim -l a.txt
sbatch --wrap 'make all'
docker ps -fname=x.yml
cargo --config=a.b=x.yml build
kubectl apply -f https://example.com/a,x.yml
mvn -Dfoo.yml test
npx turbo run build --filter=web.app
npx some-tool --config x.js
node -c x.js
node --check x
php -l x.php
"""
MISSING = """
go run x.go
prove x.t
bats x.bats
mix run x.exs
k6 run x.js
irb x.rb
streamlit run x.py
terraform apply x.tfplan
npx hardhat run scripts/x.js
npx jest --reporters ./x.js
docker compose -f x.yml up
deno run -A x.ts
ruby -Ilib x.rb
perl -Ilib x.pl
ts-node -T x.ts
Rscript --vanilla x.R
guile -s x.scm
psql -fx.sql
psql -1f x.sql
kubectl apply -fx.yml
kubectl apply -f a.yml,x.yml
locust -f a.py,x.py
flake8 --conf x.cfg
jbang x.java
dotnet x.dll
node -c -r ./y.js x.js
node -c -i x.js
php -l -d auto_prepend_file=y.php x.php
"""
FOLDERS = """
terraform -chdir=sub apply x.tfplan | sub
go run -C sub x.go                  | sub
bun --cwd sub run x.ts              | sub
bun --cwd=sub x.ts                  | sub
ruby -Csub x.rb                     | sub
gunicorn --chdir sub -c x.py a:b    | sub
uvicorn --app-dir=sub x:app         | sub
sudo --chdir sub sh x.sh            | sub
npx vitest --root sub -c x.ts       | sub
task -d sub -t x.yml                | sub
foreman start -d sub -f x           | sub
inv -r sub -c x build               | sub
ts-node --dir sub x.ts              | sub
rake --directory sub -f x.rake      | sub
"""


def _words(line: str) -> tuple[str, ...]:
    return tuple(shlex.split(line))


def _cases(table: str) -> list[list[str]]:
    return [[one.strip() for one in row.split("|")] for row in table.strip().splitlines()]


@rows("line, files", _cases(NAMED))
def test_a_file_that_a_program_obeys_is_code(line: str, files: str) -> None:
    """It is bound: from the question to the run, and under what is always allowed."""
    argv = _words(line)
    found = {one.path for one in code_words(argv, f"/usr/bin/{argv[0]}")}

    assert found.issuperset(files.split())


@rows("line", PLAIN.strip().splitlines())
def test_what_may_be_no_file_has_to_be_none(line: str) -> None:
    """The control: a container, an installed module, a word of a program's own, standard input."""
    argv = _words(line)

    assert not [one.path for one in code_words(argv, f"/usr/bin/{argv[0]}") if one.sure]


@rows("line", MISSING.strip().splitlines())
def test_a_script_that_is_missing_is_one(line: str) -> None:
    """Nothing is stored about it: whoever writes it would choose what runs unasked."""
    argv = _words(line)

    assert [one.path for one in code_words(argv, f"/usr/bin/{argv[0]}") if one.sure]


@rows("line, folder", _cases(FOLDERS))
def test_a_program_may_change_to_a_folder_first(line: str, folder: str) -> None:
    """The files that its words name are there."""
    argv = _words(line)

    assert folder in {*entered(argv, f"/usr/bin/{argv[0]}")}


@pytest.mark.parametrize(
    "line", ["python3 x.py -C sub", "node x.js --root sub", "ruby x.rb --chdir=sub"]
)
def test_the_words_of_a_script_are_its_own(line: str) -> None:
    """The control: its interpreter changes to no folder that they name."""
    argv = _words(line)

    assert "sub" not in {*entered(argv, f"/usr/bin/{argv[0]}")}


def test_each_reader_of_the_table_can_be_built() -> None:
    """Each is built when its first program is asked about, so a broken one would be found late."""
    readers = table("option_files")["readers"]
    assert isinstance(readers, list)
    names = [name for one in readers for name in words(one, "of") if name.isidentifier()]

    assert all(map(configured_by, names))
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    "line", ["torchrun x.py --output y.py", "k6 run --out=y.js x.js", "hardhat run x.js -o y.js"]
)
def test_what_a_program_writes_is_no_code(line: str) -> None:
    """The control: it changes with each run, so that each would ask again."""
    argv = _words(line)

    assert not {"y.py", "y.js"} & {one.path for one in code_words(argv, f"/usr/bin/{argv[0]}")}
