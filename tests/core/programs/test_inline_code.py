"""Ask about inline code under either trust, in each spelling; plain uses pass."""

import shlex
from dataclasses import replace
from time import process_time

import pytest

from core.model.decision import Decision
from core.model.policy import ExecPolicy, Trust
from core.policy.judge.evaluate import evaluate
from core.programs.inline_code import inline_of
from core.programs.profiles.script_effects import awk_may_run, sed_may_run
from core.programs.profiles.tables import section, table
from core.programs.started import Start
from core.programs.wrappers import names_of
from tests.support.pace import slowness
from tests.support.plans import LISTED, command, listed, plan_of
from tests.support.tables import rows

CLASSICAL = replace(LISTED, trust=Trust.CLASSICAL)
CODE = r"""
tar tf a.tar -I 'sh -c id'
tar tfI a.tar id
tar -tIid -f a.tar
tar tf a.tar --use-compress-program=id
tar tf a.tar --use-comp id
tar xf a.tar --to-comm id
tar xf a.tar -F id
tar xf host:a.tar
tar cf a.tar x --checkpoint=1 --checkpoint-act=exec=id
awk 'BEGIN{system("id")}'
awk '{print | "sh"}' f
awk 'BEGIN{"id" | getline x; print x}'
awk 'BEGIN{"id" |& getline x}'
awk -F, '{print $1 | "sort"}' f
awk -v x=1 'BEGIN{system(x)}'
awk 'BEGIN{f="system"; @f("id")}'
awk '@load "filefuncs"'
awk '@include "x"'
awk '/[/],/{print "id" | "sh"};/x/'
awk '{x=1/2; print "id" | "sh"; y=1/2}' f
awk '{x++ / 2; print "id" | "sh"; y=1/2}' f
awk '{print "a" "\"" | "sh"}' f
awk '{print /"/; system("id"); print /"/}' f
awk '{if (1) /"/; system("id"); /"/}' f
awk '{x = 1 + /"/; system("id"); y = $/"/}' f
awk '{length /"/; system("id"); x++ /"/}' f
awk '{x = 1 / /"/; system("id"); y = 1 / /"/}' f
awk '{print length/"/;print "id" | "sh"; x = length/"/}' f
awk '{x = 1system("id")}' f
gawk -e 'BEGIN{system("id")}'
gawk --source 'BEGIN{system("id")}'
gawk --sourc 'BEGIN{system("id")}'
gawk -lx f
gawk -l x 'BEGIN{}'
sed '1e id' f
sed -n '1e id' f
sed 's/x/id/e' f
sed 's/x/id/ge' f
sed -i 's/x/id/e' f
sed -e p -e '1e id' f
sed --expression='e id' f
sed --exp='e id' f
sed -l 5 '1e id' f
sed f -e '1e id'
sed -i '' '1e id'
sed -ne '1e id' f
sed '/x/e id' f
sed '1!e' f
sed sa1aidae f
sed sx1xidxge f
sed '/1/Isa1aida2e' f
sed 'p;sa1aidae' f
sed se1eidee f
sed '\a1ae id' f
sed '\a1aIe id' f
sed '\a1a!e id' f
sed '\s1se id' f
sed 'p;\a1asxaxidxe' f
sed '1,\b2b e id' f
sed 's/x;1i /id/e' f
sed '/x/s/i /id/e' f
gdb -batch -ev 'shell id'
gdb -batch -eval 'shell id'
gdb -batch -init-e 'shell id'
openssl engine -t ./x.so
python3 -m timeit -n1 id
python3 -Bm timeit id
python3 -m cProfile -m timeit id
python3 -m trace --module=timeit id
python3 -m pdb -c '!id' x.py
python3 -m idlelib -c id
node --import=data:text/javascript,id x.js
node --import ' DATA:text/javascript,id' x.js
node --experimental-loader 'data:text/javascript,id' x.js
node --test --test-reporter=data:text/javascript,id x.js
bun exec id
make -E 'all:;id'
make -Eall:;id
make -sE 'all:;id'
cmake -E __run_co_compile --tidy=id --source=x -- true
cmake -S p -B b -D CMAKE_C_COMPILER=id
cmake -S p -B b -D CMAKE_C_COMPILER:FILEPATH=id
cmake -S p -B b -DCMAKE_CXX_CLANG_TIDY=id
cmake -S p -B b -DPython3_EXECUTABLE=./x
cmake --build b -- --eval=all:;id
cmake --build b -- -sE all:;id
cmake --build b -j4 -- 'SHELL=id'
ctest --build-and-test p b --build-generator Ninja --test-command id
ctest --build-and-test p b --build-generator Ninja --build-makeprogram id
ctest --build-and-test p b --build-options -DCMAKE_C_COMPILER=id
ctest -T Build --overwrite MakeCommand=id
cpack -G TGZ -D CPACK_INSTALL_COMMANDS=id
npm -script-shell=./x run z
npm -scr ./x run z
npm config --ed ./x edit
npm exec -call id
npx -call id
npm explore pkg -- id
sqlite3 x '.once |id' 'select 1'
sqlite3 x '.output "|id"'
sqlite3 x '.imp "|id" t'
sqlite3 x '.once -e' 'select 1'
git clone -c core.sshCommand=id ssh://h/x
git clone -qc core.fsmonitor=id a b
git clone -ccore.sshCommand=id ssh://h/x
git clone --config core.sshCommand=id ssh://h/x
git clone --conf=core.hooksPath=x a b
git clone --template=x a b
git remote-ext a 'sh -c id'
git daemon --access-hook=id
gcc a.c -Xlinker -plugin -Xlinker ./x.so
gcc --prefix=./x a.c
gcc --prefix ./x a.c
nm --plug ./x.so a
psql -c '\set x `id`'
psql -c '\out |id'
psql -c 'select 1 \gx |id'
psql -c "copy x from/**/program 'id'"
mysql -e 'pager id; select 1'
mysql '-esystem id'
gpg --photo-v=id -k
java -Xrunjdwp:onthrow=x,launch=id Y
java -XX:VMOptionsFile=x Y
pandoc --filt id x
pandoc -t x.lua y
pandoc --from=x.lua y
pdflatex -cnf-line shell_escape=t x
latexmk -xelatex=id x
dvips '-o!id' x
gs '-sOutputFile=|id' x
convert '|id' y.png
convert x.png 'png:|id'
magick -script x
exiftool '-x<${y;system("id")}' z
exiftool -@ x
helm install a b --post-renderer id
gh repo clone a/b -- -c core.sshCommand=id
gh repo clone a/b -- --upload-pack=id
gh alias set x '!id'
restic -o rclone.program=id backup x
rclone --sftp-ssh id ls a:
rclone lsf ':sftp,ssh=id:'
borg with-lock x id
apt-get -o APT::Compressor::xz::Binary=id update
apt-get -o APT::Key::GpgvCommand=id update
octave --eva id
R -d id
ghc -F -pgmF id x.hs
mix run -e id
iex -e id
racket -e id
rake -e id
c99-gcc -wrapper ./x a.c
gcc-nm --plugin ./x.so a
gcc-ar-12 --plugin ./x.so r a
gdbtui -ev 'shell id'
git instaweb --httpd=./x
python3 -m pip --python ./x list
pip config --edito ./x edit
prove -e ./x t
prove --exec ./x t
jrunscript -e id
groff -U x
rpcgen -Y ./x y
ssh-keygen -t ecdsa-sk -w ./x.so
ssh-add -S ./x.so -K
sotruss id
debconf -oowner id
swift -e id
git -c alias.x='!id' x
git -calias.x='!id' x
git -C d -c core.pager=id log
git --no-pager -c core.sshCommand=id fetch
git -c user.name=x -c core.editor=id commit
git -c user.name=x -ccore.editor=id commit
git --config-env=core.pager=X log
git --config-env core.pager=X log
git -c diff.external=id diff
git -c init.templateDir=x init
git --exec-path=/tmp/x status
git grep -Oid x
git grep --open-files-in-pager=id x
git grep --ope=id x
git rebase -x id HEAD~1
git rebase --exec=id HEAD~1
git rebase --exe id HEAD~1
git difftool -x id
git difftool --extcmd=id
git submodule foreach id
git submodule --quiet foreach id
git bisect run id
git filter-branch --tree-filter id
git clone -u id x
git clone --upload-pack=id x
git ls-remote --upload-pack id x
git clone ext::id
git fetch 'ext::sh -c id'
git push --receive-pack=id o
ssh -oProxyCommand=id h
ssh -o ProxyCommand=id h
ssh -o proxycommand=id h
ssh -vo 'ProxyCommand id' h
ssh -o LocalCommand=id -o PermitLocalCommand=yes h
scp -S id a h:b
scp -oProxyCommand=id a h:b
sftp -b f h
rsync -e id a h:b
rsync -ae id a h:b
rsync --rsh=id a h:b
rsync --rsync-path=id a h:b
wget --use-askpass=id u
wget -e use_askpass=id u
curl --engine x u
man -P id ls
man --pager=id ls
man --pag id ls
man -Hid ls
zip a.zip f -T -TT id
zip a.zip f -T --unzip-command=id
ip netns exec x id
ip -all netns exec id
ip net ex x id
ip vrf exec x id
split --filter=id f
split --fil=id f
sort --compress-program=id f
install -s --strip-program=id a b
psql -c '\! id'
psql -c "copy t to program 'id'"
psql -o '|id'
sqlite3 a.db '.shell id'
sqlite3 a.db '.system id'
sqlite3 a.db "select load_extension('x')"
sqlite3 -cmd '.shell id' a.db
mysql -e '\! id'
mysql -e 'system id'
mysql --pager=id
vim -c ':!id' f
vim +'!id' f
vim --cmd '!id'
vim -es f -S x
less '+!id' f
emacs --batch --eval '(shell-command "id")'
emacs -f x
nano -s id f
make SHELL=/tmp/x
make --eval='$(shell id)'
make 'X=$(shell id)'
make 'testx!=touch f'
make test 'x != id'
go test -exec id ./...
go build -toolexec id
go vet -vettool=id
go build '-ldflags=-extld=id'
cargo --config 'target.x.runner="id"' run
cargo run --config target.x.linker=id
rustc -Clinker=id a.rs
rustc -C linker=id a.rs
gcc -wrapper id a.c
gcc -fplugin=x a.c
gcc @args
cmake -E env id
cmake -DCMAKE_C_COMPILER_LAUNCHER=id .
npm exec -c id
npm exec --call=id
npx -c id
npm --script-shell=id test
npm test --node-options=x
apt-get -o APT::Update::Pre-Invoke::=id update
apt-get -oDPkg::Pre-Invoke=id install x
apt-get --option=Dpkg::Pre-Invoke=id install x
apt-get -c x update
rpm --eval '%(id)'
rpm -E '%{lua:x}'
rpm -qa --pipe id
openssl req -engine x
tcpdump -z id -w x
nc -e id h 1
nc -lvpe 1 id
ncat --sh-exec id h 1
socat - EXEC:id
socat - system:id
lftp -c '!id'
fzf --preview id
bat --pager=id f
pandoc --filter id f
pandoc -F id f
pdflatex -shell-escape x
latex '\write18{id}'
dc -e '!id'
exiftool -if 'system("id")' f
ansible all -m shell -a id
yt-dlp --exec id u
restic --password-command id snapshots
puppet apply -e 'exec{}'
java -javaagent:x Main
gs -dNOSAFER f
perl -d:x a.pl
perl -w a.pl -e 1
perl - -e 1
node -r ./a x.js -e 1
node inspect -e 1
node - -e 1
node '' -e 1
node data:text/javascript,1 -e 1
python3 -Bc x
python3 -W ignore -c x
python3 -X dev -Ic x
ruby -rne x
git --shallow-file x -c alias.z='!id' z
git -c diff.renames -c alias.z='!id' z
git -c commit.gpgsign=false -c alias.z='!id' z
git -c core.pager=cat -c alias.z='!id' z
git -c core.editor=true -c core.pager=id log
git -c pager.log=id log
git clone -qu id ./r y
git clone -4u id ./r y
git clone -q4c core.sshCommand=id ssh://h/x
git clone --u id h:x
git clone --up=id h:x
git ls-remote --u=id h:x
git push --e=id h:x
git push --ex id h:x
git archive --e=id --remote=h:x HEAD
git send-pack --rec=id h:x
git grep --op=id x
git grep -3Oid x
git submodule--helper foreach id
git bisect--helper --bisect-run id
git merge-index ./x -a
git svn fetch --authors-p ./x
git send-email --sendmail-c=id x
git config --global alias.z '!id'
gdb -batch -eiex 'shell id'
gdb -batch -early-init-e 'shell id'
ctest --launch -- id
cmake -S p -B b '-DCMAKE_C_FLAGS=-wrapper ./x'
cmake -S p -B b -DCMAKE_CXX_FLAGS=-fplugin=./x.so
cmake -S p -B b -DCMAKE_C_COMPILE_OBJECT=id
cmake -S p -B b -DCMAKE_C_COMPILER=./clang
cmake -S p -B b '-DCMAKE_C_COMPILER=gcc;-wrapper;./x'
cmake -S p -B b -DCMAKE_STRIP=./x
cmake -S p -B b -DCMAKE_EXE_LINKER_FLAGS=-B./x
cmake --build b -- CC=./x
make CC=./x a
make CC='sh -c id #' a
make 'CFLAGS=;id;' a
make 'ARGS=`id`' test
make LDFLAGS='-wrapper ./x' a
make CC='gcc -wrapper ./x' a
make CXX='g++ -wrapper ./x' a
make CC='ccache ./x' a
make CC='python3 x' a
make AR=./x 'l.a(a.o)'
make COMPILE.c=./x a.o
gcc -Wp,-fplugin=./x.so a.c
gcc -Xpreprocessor -fplugin=./x.so a.c
nm --pl ./x.so a.o
ranlib --p ./x.so a.a
ld.bfd -plugin ./x.so a.o
opt --load ./x.so a.ll
llvm-reduce --test=./x a.ll
apt-get -s --solver ./x install y
apt-get -o APT::Solver=./x install y
apt-get -o Dpkg::Options::=--pre-invoke=id install y
apt-get --OPTION=Dpkg::Pre-Invoke=id install y
dpkg-buildpackage --hook-init=id
mmdebstrap --setup-hook=id bookworm x
debconf-apt-progress -- id
tar cbf 20 h:x f
zip -T -9TT id a.zip f
ssh -o ' ProxyCommand=id' h
ssh -o '"ProxyCommand" id' h
ssh '-o ProxyCommand=id' h
ssh -o =ProxyCommand=id h
ssh -vI ./x.so h
ssh h -I ./x.so
ssh -p 22 -I ./x.so h
scp -o ' ProxyCommand=id' a h:b
scp -rS id a h:b
sftp -o' ProxyCommand=id' h
sshfs -o reconnect,ssh_command=id h: m
ssh-add -vs ./x.so
rsync -4e id a h:b
wget -e u_s_e_askpass=./x u
wget -4e use_askpass=./x u
curl --en x u
vim -p2c ':!id' f
perl '-F/,/);`>x`;(/,/' -an f
perl '-Mstrict;`id`' x.pl
perl -lne id f
perl -ge id
perl '-w -e' id
perl '-i.b -e' id
perl -W -I lib -e id
prove -e./x t
prove -ve./x t
json_pp -f eval
json_pp -f=eval
python3 -m imaplib -s id
python3 -m cProfile -m runpy timeit id
python3 -m trace --count --modul timeit id
python3 -m pdb --co '!id' x.py
python3 /usr/lib/python3.11/timeit.py id
python3 manage.py shell -c id
pdb3 -c '!id' x.py
pip --py ./x list
pip config --edit ./x edit
mypy --python-executable ./x f
pylint --init-hook=id f
tox -x testenv.commands=id
uv run --python ./x f
uv run python -c id
uv run python -X dev -c id
poetry run sh -c id
bundle exec ruby -e id
npx sh -c id
npx -y tsx -e id
npm exec -c=id
npx -yc=id
npm -yc id exec
npm exec --c=id
npm --c id exec
npm exec ---call=id
npm exe -c id
npm explo pkg -- id
npm --she ./x explore pkg
jps -J-agentpath:./x.so
jar -J-XX:OnError=id tf x
sqlite3 x '.once "\174id"' 'select 1'
sqlite3 x '.import "\174id" t'
sqlite3 x "select \"edit\"('a','id')"
sqlite3 x "select [edit]('a','id')"
sqlite3 x "select edit/**/('a','id')"
duckdb x '.shell id'
sqlite3 x '."shell" id'
sqlite3 x '. shell id'
sqlite3 x '. once |id' 'select 1'
psql --o='|id' -c 'select 1'
psql -v 'PROMPT1=%`id`'
mysql '-vesystem id'
openssl list -provider=./x.so
openssl rand -engine=./x.so 1
gpg --dirm ./x --recv-keys 1
gpgsm --agent-program ./x -K
gpgtar --gpg ./x -t f
msgexec -i x.po id
msgfilter -i x.po id
concurrently id
chromium --renderer-cmd-prefix=id u
podman --runtime ./x info
cargo rustc -- -C linker=./x
bazel test --run_under=id //x
protoc --plugin=protoc-gen-x=./x --x_out=. a.proto
php artisan tinker --execute=id
php -d auto_prepend_file=data:x y.php
rails runner id
rpm --dbpath '%(id)' -qa
rpm -q --qf '%{lua:id}' x
node inspect -e id
git push --repo='ext::sh -c id'
git archive --remote='ext::sh -c id' HEAD
git filter-repo --commit-callback 'import os'
git-filter-repo --message-callback 'return os'
git -c branch.main.remote='ext::sh -c id' fetch
ed '!touch m'
ed -s '!id'
red '!id'
rename 's/a/system("id")/e' f
prename 's/a/b/;system("id")' f
file-rename -e 'system("id")' f
perl /usr/bin/rename 's/a/`id`/e' f
perl /usr/bin/prove -e id t
node /usr/bin/npm exec -c id
node /usr/bin/npx -c id
node node_modules/.bin/tsx -e 1
node node_modules/.bin/concurrently id
node node_modules/.bin/nodemon --exec id
php ./artisan tinker --execute='system("id");'
php /app/artisan tinker --execute 'system("id");'
ruby bin/rails runner 'system("id")'
ruby script/rails r 'system(1)'
bundle exec rails runner 'system("id")'
bundle exec rake -e 'system("id")'
poetry run python manage.py shell -c 'import os'
uv run manage.py shell -c 'import os'
uv run python manage.py shell --command='import os'
pipenv run django-admin shell -c 'x'
manage.py shell -c 'import os'
uv run ipython -c 'x'
uv run python -m timeit 'import os'
uv run python -Im timeit 'import os'
uv run git -c alias.x='!id' x
uv run awk 'BEGIN{system("id")}'
uv run find . -exec id ';'
uv run env sh x
poetry run sh x.sh
poetry run make SHELL=./x
poetry run tar -I ./x -cf y z
poetry run sed '1e id' f
npx nodemon --exec id
npx nodemon -x id
npx concurrently 'id'
npx tsc-watch --onSuccess id
npx tsup --onSuccess id
npx chokidar '*' -c id
npx rollup -p '{x}'
npx start-server-and-test 'touch m' 3000 'id'
npx babel-node -e 1
npx zx --eval 1
npx zx -e 1
npx ts-node-esm -e 1
pnpm --config.script-shell=./x run y
pnpm --config.node-options=--require=./x run y
npm --onload-script=./x ls
npm --node-gyp=./x rebuild
npm --python=./x rebuild
groff -F. -Tfoo f
eqn2graph -unsafe
pic2graph -unsafe
gdb -D d -batch
gdb -data-directory d -batch
gdb --data-directory=d
gdb-multiarch -ex 'shell id'
rust-gdb -ex 'shell id'
arm-none-eabi-gdb -ex 'shell id'
arm-none-eabi-gcc -wrapper ./x a.c
riscv64-unknown-elf-gcc -fplugin=./x.so a.c
avr-gcc -wrapper ./x a.c
lldb -o 'shell id'
lldb --one-line 'platform shell id' -b
lldb -O 'shell id'
gcc --for-linker=--plugin=./x.so a.c
gcc --for-linker --plugin=./x.so a.c
g++ -fmodules-ts '-fmodule-mapper=|./x' a.cc
g++ -fmodule-mapper='|touch m' -fmodules-ts -c a.cc
gcc -fopenmp -foffload=-fplugin=./x.so a.c
gcc --plugin=./x.so a.c
clang --config x a.c
clang --config=x a.c
clang -ccc-gcc-name ./x a.c
clang --ptxas-path=./x a.cu
emcc -Xclang -load a.c
nvcc -ccbin ./x a.cu
nvcc --compiler-bindir=./x a.cu
nvcc -Xcompiler -wrapper a.cu
tcc -run a.c
mpicc -cc=./x a.c
windres --preprocessor='sh -c id' a.rc
dlltool --as=./x
rustc -Zllvm-plugins=./x.so a.rs
rustc -C dlltool=./x a.rs
cargo build --config 'build.rustflags=["-Clink-arg=-B."]'
cargo build --config 'source.crates-io.replace-with="x"'
cargo rustc -- -Zcodegen-backend=./x.so
cargo rustc -- @x
cargo rustc -- --codegen linker=./x
cargo watch -s 'touch m'
rustup run nightly sh -c id
go tool pprof -tools d x
jcmd 1 JVMTI.agent_load ./x.so
jdb -Xrunx X
jdb -R-javaagent:x X
jdb -javaagent:x X
keytool -list -providerclass X -providerpath d
jarsigner -providerClass X -providerPath d a b
jconsole -pluginpath d
ts-node-esm -e 1
ts-node-dev -e 1
esno -e 1
lsc -e 1
bb -e '(shell "id")'
bb '(shell "id")'
nbb -e 1
clj -X clojure.core/eval :x 1
lein run -m clojure.main -e 1
qjs -e 1
qjs --eval 1
gjs -c 1
tjs eval 1
njs -c 1
pry -e 1
rackup -e 1
rackup -b 'run x'
php -d auto_prepend_file=./x.php y.php
php -d auto_prepend_file=php://stdin y.php
php -d extension_dir=. -d extension=x y.php
php -z ./x.so y.php
php -d opcache.preload=./x.php y.php
php vendor/bin/drush ev 1
php wp-cli.phar eval 1
python3 -m fire subprocess run id
python3 -m debugpy --listen 1 -c 'import os'
python3 -m xonsh -c id
python3 -m uv run python -c 1
python3 -m poetry run sh -c id
python3 -m ansible adhoc -a id
python3 -m memray run -c 1
python3 -m tox -x testenv.commands=id
python3 /usr/bin/ipython3 -c 1
python3 /usr/lib/python3.11/pdb.py -c '!id' x
python3 /usr/lib/python3.11/cProfile.py -m timeit 1
python3 /usr/lib/python3.11/trace.py --module timeit 1
python3 /usr/lib/python3.11/runpy.py timeit 1
python3 /usr/bin/pip --python ./x list
python3 /usr/bin/pdb3 -c '!id' x
python3 /usr/bin/ansible h -a id
ipython --InteractiveShellApp.code_to_run='1'
ipython --InteractiveShellApp.exec_lines='["1"]'
ipython3 --TerminalIPythonApp.code_to_run=1
bmake -V 'X:!id!'
bmake X=id -V X:sh
cmake -S p -B b -DCMAKE_C_FLAGS='; touch m;'
cmake -S p -B b -DCMAKE_EXE_LINKER_FLAGS='$(shell touch m)'
cmake -S p -B b -DCMAKE_C_STANDARD_LIBRARIES='`touch m`'
just x='$(id)' t
convert -size 1x1 xc: -draw 'image over 0,0 0,0 "|touch m"' x.png
convert 'tile:png:|touch m' x.png
gm convert '|touch m' x.png
gm batch f
play '|touch m'
soxi '|touch m'
ffmpeg -f lavfi -i 'aevalsrc=0,ladspa=file=./x.so' o.wav
ffmpeg -i a -af 'ladspa=file=./x.so:plugin=y' o.wav
ffplay -vf 'frei0r=./x' a
mpv --script=./x.lua a
mpv --input-commands='run id' a
gs -DNOSAFER x.ps
gs -dSAFER=false x.ps
gs -sDEVICE=ijs -sIjsServer=./x x.ps
gs @args
ps2pdf -dNOSAFER x.ps
pandoc --pdf-engine-opt=-shell-escape x.md -o x.pdf
latexmk -latexoption=-shell-escape x
latexmk -pF id x
latexmk -dvi-filter=id x
dvipdfmx -D 'touch m' x.dvi
epstopdf --gscmd=./x a.eps
pdfcrop --pdftexcmd ./x a.pdf
gpg --opt f --version
gpg --home d -K
gpg --age=./x -K
mlr -n put 'end{print system("id")}'
mlr --prepipe id cat f
yq --security-enable-system-operator x
xidel -e 'system("id")'
goawk 'BEGIN{system("id")}'
mysql -e 'source f'
mongosh --eval 1
mongo --eval 1
beeline -e '!sh id'
snowsql -q '!system id'
consul exec id
consul lock x id
consul watch -type=key -key=x id
salt-call --local cmd.run id
chef-apply -e 'x'
knife exec -E 'x'
inspec shell -c 'x'
docker --config d ps
buildah --runtime=./x run y
ctr run --runc-binary=./x y
kubectl config set-credentials u --exec-command=./x
kubectl kustomize --enable-helm --helm-command=./x .
kustomize build --helm-command ./x .
terraform init -plugin-dir=d
apt-mark -o Dir::Bin::dpkg=./x hold bash
debuild --lintian-hook=id
debuild --rootcmd=./x
sbuild --pre-build-commands=id
gbp buildpackage --git-builder=./x
pacman --hookdir d -S x
iptables --modprobe=./x -L
iptables -M ./x -L
ip6tables --modprobe=./x -A INPUT -j LOG
iptables-restore -M ./x f
iptables --modp=./x -L
tc exec bpf import x run id
pppd pty id
pppd connect id
dhclient -sf ./x
dnsmasq --dhcp-script=./x
wpa_cli -a ./x
logrotate -m ./x f
apache2 -c 'ErrorLog "|id"'
apache2 -C 'LoadModule x ./x.so'
redis-server --loadmodule ./x.so
uwsgi --exec-asap=id
postgres -c archive_command=id
pg_ctl -p ./x -D d start
coredumpctl debug --debugger=./x
systemd-dissect --with i id
alacritty -e id
gnome-terminal -- id
kitty sh -c id
konsole -e id
wezterm start -- id
urxvt -e id
x-terminal-emulator -e id
ccache ./x a.c
ccache touch m
distcc touch m
sccache touch m
libtool --mode=execute touch m
asciinema rec -c id f
ttyd id
gotty id
websocketd --port=1 id
tcpserver 0 1 id
forever start -c id x
immortal id
dockerize id
byobu new id
dvtm id
ledit id
xe id
teip -l 1 -- id
sops exec-env f id
sops exec-file f id
watchmedo shell-command -c id
reflex -- id
nix develop -c id
nix shell nixpkgs#x -c id
nix-build -E 'x'
nix-instantiate --eval -E x
volta run node -e 1
memray run -c 1
bpftrace -c id -e 'BEGIN{}'
bpftrace --unsafe -e 'BEGIN{system("id")}'
stap -e 'probe begin{}'
stap -c id x
qemu-system-x86_64 -incoming 'exec:id'
qemu-system-x86_64 -netdev tap,id=x,script=./x
hg --config alias.x='!id' x
hg --config extensions.x=./x.py x
svn diff --diff-cmd ./x
svn --config-option config:tunnels:x=id co svn+x://h
bzr -Oeditor=id commit
jj --config 'ui.pager="id"' log
jj util exec id
fossil diff --command ./x
darcs record --posthook=id
gradle -Dorg.gradle.java.home=d build
sbt 'clean; eval 1'
sbt ';eval 1'
sbt -J-javaagent:x
sbt -java-home d
kotlinc -e 1
kotlinc -expression 1
kotlinc -Xplugin=./x.jar a.kt
scalac -Xplugin:./x.jar a.scala
scala-cli -e 1
scala-cli run -e 1
amm -c 1
groovysh -e 1
dotnet build -p:CustomAfterMicrosoftCommonTargets=./x
dotnet build -logger:./x.dll
dotnet msbuild @rsp
dotnet script eval 1
mix cmd id
mix do cmd id
rebar3 shell --eval 1
ghci -e 1
stack eval 1
ocaml -e 1
sage -c 1
maxima -r x
maxima --run-string=x
gap -c 1
wolframscript -code 1
matlab -r 1
matlab -batch 1
scilab -e 1
root -e 1
janet -e 1
fennel -e 1
hy -c 1
gforth -e 1
csi -e 1
gsi -e 1
ecl -eval 1
clisp -x 1
abcl --eval 1
newlisp -e 1
ros run -e 1
rdmd --eval=1
nim --eval:1
nim e x.nims
crystal eval 1
dmd -run x.d
bazel --bazelrc=f build x
bazel build --credential_helper=./x y
meson setup -Dc_args='-wrapper ./x' b
meson devenv id
meson runpython x.py
meson runpython -c 1
yt-dlp --alias a '-x --exec id' u
yt-dlp --js-runtimes node:./x u
w3m -o extbrowser=id u
lynx -dump lynxexec:id
elinks -eval 'x'
wireshark -X lua_script:x
emacs --init-directory=d
emacs -u x
node --no-warnings /usr/bin/npx -c 'touch m'
node -r ./a.js /usr/bin/npx -c 'touch m'
node --import x --loader y /usr/bin/npx -c 'touch m'
node -- /usr/bin/npx -c 'touch m'
node /usr/bin/npm --silent exec -c 'touch m'
node /usr/bin/npm --script-shell=./ev test
python3 -W error -X dev /usr/bin/pdb3 -c '!x' x.py
python3 -I /usr/bin/pdb3 -c '!x' x.py
python3 -- /usr/bin/pdb3 -c '!x' x.py
python3 -m pdb -c '!x' x.py
python3 -mpdb -c '!x' x.py
python3 -m runpy pdb -c '!x'
python3 -m cProfile /usr/bin/pdb3 -c '!x' x.py
python3 -m trace --trace /usr/bin/pdb3 -c '!x' x.py
python3 -m coverage run /usr/bin/pdb3 -c '!x' x.py
python3 -m uv --directory d run sh -c x
python3 -muv run sh -c x
python3 -m poetry -C d run sh -c x
python3 -m poetry -vvv run python -c 1
python3 -m pipenv run python -m timeit x
python3 -m npx -c x
python3 -m pytest --tx popen//python=x
python3 -m IPython --InteractiveShellApp.code_to_run=x
python3 -m IPython -c x
python3 -m ansible all -a id
python3 -m hatch run sh -c x
python3 -m debugpy --wait-for-client -c x
python3 -m tox -x a.commands=id
uv run --project d --directory e sh x
uv run uv run sh x
uv --directory d run python -c 1
uv run -m timeit x
uv run --module timeit x
uv run -m pdb -c '!x' y
uv run python3 /usr/bin/pdb3 -c '!x' y
uv run node /usr/bin/npx -c x
uv tool run ipython -c 1
uvx ipython -c 1
uvx --from ipython ipython -c 1
uvx --with x sh -c y
uvx nodemon --exec id
pipx run ipython -c 1
pipx run --spec x ansible all -a id
npx --package a --package b sh x
npx npx npx npx npx npx npx -c id
npx --no-install tsx -e 1
npx -- tsx -e 1
npx tsx@latest -e 1
npx nodemon@3 --exec id
npx concurrently@8 'id'
npm exec -- tsx -e 1
npm exec tsx -- -e 1
npm x -- nodemon --exec id
pnpm dlx nodemon --exec id
pnpm dlx tsx@latest -e 1
yarn dlx nodemon --exec id
yarn dlx -p x nodemon --exec id
bun x nodemon --exec id
bunx nodemon --exec id
bunx --bun tsx -e 1
bundle exec ruby -ne 1
bundle exec ruby -rx -e 1
bundle exec irb -e 1
bundle exec pry -e 1
bundle exec --keep-file-descriptors rails r 1
bundle exec bin/rails runner 1
bundle exec rake -e 1
bundle exec rackup -e 1
composer exec -- php -r 1
composer exec php -- -r 1
stack exec -- ghc -e 1
stack exec --package x -- ghci -e 1
cabal exec -- ghc -e 1
cabal v2-exec -- sh x
opam exec -- ocaml -e 1
opam exec --switch=x -- sh x
conda run -n x python -c 1
conda run --no-capture-output -n x bash -c id
conda run -n x --cwd d python -c 1
mamba run -p d python -c 1
rustup run stable cargo --config 'build.rustc-wrapper="./x"' build
rustup run --install stable sh x
pyenv exec python -c 1
rbenv exec ruby -e 1
poetry run django-admin shell -c 1
poetry run ./manage.py shell -c 1
poetry run python ./manage.py shell -c 1
ccache gcc -wrapper ./x a.c
ccache /usr/bin/gcc -fplugin=./x.so a.c
ccache ./gcc a.c
ccache x=y gcc a.c
ccache clang -Xclang -load a.c
distcc ./x a.c
sccache sh x
perl -w /usr/bin/prove -e x t
perl -I d /usr/bin/rename 's/a/`id`/e' f
perl -- /usr/bin/prove -e x t
perl /usr/bin/exiftool -if 'system("id")' f
perl /usr/bin/json_pp -f eval
perl /usr/bin/latexmk -e 'system("id")'
perl /usr/bin/parallel id
ruby -S rails runner 1
ruby /usr/bin/irb -e 1
ruby -Ilib bin/rails r 1
php /usr/bin/composer exec sh x
php bin/wp eval 1
php ./wp-cli.phar eval 1
php -d x=y ./artisan tinker --execute=1
php -f artisan tinker --execute=1
php -f artisan -- tinker --execute=1
rename -v 's/a/b/; system("id")' f
rename -n 's/(.)/$1@{[system("id")]}/' f
rename 's/a/${\system("id")}/' f
rename 's{a}{b}e' f
rename 'system "id"' f
rename "s/a/b/ee" f
rename 's/a(?{system("id")})//' f
rename '$_=`id`' f
rename -u utf8 's/a/`id`/e' f
rename -vn 's/a/`id`/e' f
prename 'y/a/b/;exec("id")' f
cmake -S p -B b '-DCMAKE_C_FLAGS:STRING=;id'
cmake -S p -B b -D 'CMAKE_C_FLAGS=;id'
cmake -S p -B b -D 'CMAKE_CXX_FLAGS_RELEASE=-O2 & id'
git -c alias.x='!id' filter-repo
git bisect --no-checkout run id
git submodule --quiet foreach --recursive id
git "" grep -Oid x
git clone -c user.name=x -c core.sshCommand=id h:y
git clone --config user.name=x --config=core.sshCommand=id h:y
git clone -b x -4qu ./x h:y
gh repo clone x/y -- -c core.sshCommand=id
ip -n x netns e y id
helm --post-renderer ./x upgrade
psql -c '\set x `id`' -c 'select 1'
psql -c 'select 1 \g |id'
psql -c '\a \\b \c `id`'
mysql -e 'select 1; system id'
sqlite3 d ' .system id'
exiftool '-x<${a${b;system("id")}}' f
exiftool '-x<${a;${b};system("id")}' f
php -d ' sendmail_path=id' x.php
php -d'auto_prepend_file = ./e.php' x.php
tar -cf x --checkpoint-action exec=id --checkpoint=1 f
ruby -Se 1
ruby -KUe 1
ruby -aFx -e 1
ruby -i.b -ne 1 f
ruby -Cd -ne 1
ruby -EUTF-8 -e 1
ruby -W:no-deprecated -e 1
ruby -0777 -ne 1
ruby -vwe 1
ruby -T0e 1
ruby -y -e 1
ruby --yjit -e 1
ruby --enable frozen-string-literal -e 1
bun --bun run -e 1
bun --silent -e 1
bun -b -e 1
bun --watch --eval 1
bun run --bun -e 1
bun --env-file f -p 1
clojure -A:dev -M -e 1
clojure -J-Xmx1g -M -e 1
clojure -Srepro -e 1
tsx --no-cache -e 1
tsx watch -e 1
tsx --tsconfig f -e 1
""".strip().splitlines()
PLAIN = r"""
node x.js -e 1
node server.js -p 3000 --eval --print
node x.js --import=data:text/javascript,id
perl a.pl -e -E -d:x -Mx=y
ruby a.rb -e 1
php a.php -r 1
lua a.lua -e 1
awk '{print $1}' f
awk -F'|' '{print $2}' f
awk -F, '/a|b/{print $2}' f
awk '$1 > 5 || $2 < 3 {n++} END{print n/2}' f
awk 'BEGIN{x="a|b"; print x}'
awk '{print > "out"}' f
awk -v n=5 'NR==n' f
awk -f prog.awk f
awk '{gsub(/[|]/,"x"); print}' f
gawk --version
mawk '{s+=$1} END{printf "%d\n", s}' f
awk '{printf "%d|%.2f\n", $1, ($2 + $3) / 2}' f
awk '{print a[1] / 2 "|" NF / 2}' f
awk '{if ($1 ~ /a|b/) print ($1 + 1) / 2}' f
awk '{print length / 2, $1}' f
awk '/a/{print 1e3 / 2}' f
sed -n 1,5p src/even.py
sed 's/foo/bar/g' f
sed -i 's/foo/bar/' even.txt
sed -i.bak -e '/^export /d' f
sed -e 1d -e '$d' f
sed 's/a/b/w out' f
sed '/x/a some text that has a letter more than once' f
sed 's/,\s*[/]x/,/' f
sed -i '1i #!/usr/bin/env python3' f
prove -lr t
ssh-keygen -t ed25519 -f k -N x
python3 -m pip install --editable .
sed -i '/import os/a import these; e' f
cmake -S . -B b -DPython3_EXECUTABLE=/usr/bin/python3
gdb -q -nx
openssl engine -t
python3 -m pytest -c x timeit
python3 -m timeit --help
python3 -m trace --count x.py timeit
node --import ./x.js y.js
node --test --test-reporter=spec
make -j4 -C Engine
make -CEngine all
cmake -S . -B b -D CMAKE_BUILD_TYPE=Debug
cmake -S . -B b -DBUILD_EXECUTABLE=ON -DCMAKE_INSTALL_PREFIX=/x
cmake --build b --target all -- -j4
ctest --test-dir b -R x --output-on-failure
cpack -G TGZ -D CPACK_PACKAGE_NAME=x
npm --prefix x run build
npm -g ls
npm explore pkg
sqlite3 x '.separator |' 'select a||b from c'
sqlite3 x '.import --csv x.csv t'
sqlite3 x '.output x.txt' 'select 1'
git clone -b topic -c core.autocrlf=false a b
git clone -c user.name=x --depth 1 a b
git clone --config color.ui=false a b
gcc a.c -Xlinker -rpath -Xlinker /x
psql -c '\echo x'
psql -c '\encoding'
mysql -e 'select 1'
gpg --list-options show-notations -k
java -XX:MaxRAMPercentage=50 Y
pandoc -t html -f markdown x -o y
convert x.png -resize 50% y.png
exiftool -a -G x
helm install a b --wait
gh repo clone a/b -- --depth=1
sed -f script.sed f
sed --version
tar tf a.tar
tar xzf a.tgz -C out
tar -cJf a.txz src
tar xvf /a/b:c.tar
git status
git push origin main
git -c user.name=x commit -m y
git -c color.ui=false log
git --no-pager -c core.quotepath=off log -c
git switch -c feature/x
git log -c HEAD
git commit -c HEAD
git clone --recurse-submodules u
git clone --recursive u
git grep -n TODO
git rebase main
git -C sub status
git submodule update --init
git config alias.st status
ssh host uptime
ssh -p 22 -i key host
scp a host:b
rsync -av a b
rsync -av --delete --exclude=x a b
wget -q https://x
curl -s https://x -o f
man ls
zip -r a.zip src
unzip a.zip
ip addr show
ip netns list
sort -k2 f
psql -c 'select 1'
psql -f x.sql
sqlite3 a.db 'select 1'
mysql -e 'select system from t'
vim f
less f
emacs f
nano f
make test
make -j4 CC=gcc
python3 manage.py migrate -c x
python3 -m pytest -c x
npx tsc -c x
npm run test x -c y
go test -run x ./...
go build ./...
cargo build --release
rustc -O a.rs
gcc -O2 -o a a.c
cmake -B build -DCMAKE_BUILD_TYPE=Release
npm test
npm run build
npm install x
apt-get install -y x
rpm -qa
openssl x509 -in c -noout -text
python3 app.py
node server.js
docker run alpine id
kubectl get pods
java -jar x.jar
bat f
nc -vz h 1
ssh -oIdentitiesOnly=yes h
ssh -i k h ls -I x
ssh h grep -rIn x /etc
scp -oStrictHostKeyChecking=no a h:b
sftp -oStrictHostKeyChecking=no h
ssh-add -D
bat --paging=never f
delta --paging=never
rg --pretty x
rg --pre-glob x y
cmake -B b -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=/usr/bin/clang++-14
cmake -B b -DCMAKE_CXX_COMPILER_LAUNCHER=ccache
cmake -B b -DCMAKE_EXE_LINKER_FLAGS=-static -DCMAKE_C_FLAGS='-O2 -Wall'
cmake -B b -DENABLE_CLANG_TIDY=OFF -DCMAKE_LINKER_TYPE=LLD
make CC=clang CXX=g++-12 CFLAGS='-O2 -g'
make CC='ccache gcc' AR=/usr/bin/llvm-ar
make ARGS='-k foo' PYTHON=.venv/bin/python test
make RM='rm -f' clean
git -c core.pager=cat log
git -c core.editor=true rebase --continue
git -c pager.diff=false -c core.fsmonitor=false diff
git -c core.hooksPath=/dev/null commit -m x
git -c http.sslVerify=false fetch
git clone -b cu u
git grep -l Output
git ls-remote --exit-code u
git push -u origin main
man -P cat ls
man --pager=cat ls
pip download --python-version 3.9 x
npm exec -- eslint -c x .
npm version --git-tag-version=false patch
node server.js -p 3000
ruby x.rb -e production
php x.php -r y
perl x.pl -e
perl -Ilib -MTest::More x.t
perl -F, x.pl
perl -F'/,/' x.pl
rpm -qa --qf '%{NAME} %{INSTALLTIME:date}\n'
apt-get -o Dpkg::Options::=--force-confold -y install x
apt-get -o Dpkg::Use-Pty=0 install x
sqlite3 a.db 'select a.read, b.load from a, b'
uv run pytest -c x
uv venv --python 3.12
poetry run python x.py -c y
npx tsx x.ts -e y
tar cbf 20 a.tar x
podman --runtime crun info
pandoc x --pdf-engine=xelatex
ruby -Itest test/x_test.rb
ruby -Ilib:test -rbundler/setup -w x.rb
bun run dev -p 4000
bun run src/x.ts -e prod
bun test -t name
bunx tsc -p .
clojure -X:test
clj -M:dev
tsx x.ts -p 3000
npx tsx src/index.ts -p 3000
npx ts-node -P tsconfig.json src/x.ts
npx mocha -r ts-node/register test/x.ts
npx next dev -p 3001
node node_modules/.bin/jest -t x -e
node node_modules/.bin/tsc -p .
node scripts/make.js 'A=b;c' -p
node build/watch -p
python3 make.py 'CC=./x' -E
python3 bin/test -v
python3 -m http.server -c
python3 -m test -v
python3 -m pip install -r requirements.txt
python3 -m poetry run pytest
uv run python manage.py migrate
uv run --with rich x.py --eval
uv run make test
conda run -n py311 python x.py
rustup run nightly cargo test
bundle exec rspec -e 'does x'
bundle exec rails server -e production
stack exec app
php artisan tinker
php ./artisan migrate --execute
php -d memory_limit=-1 vendor/bin/phpunit
ccache gcc -c a.c
ccache -s
rename 's/\.htm$/.html/' a.htm
rename -n 's/foo_(\d+)/bar-$1/g' a
rename 'y/A-Z/a-z/' a
rename .htm .html a.htm
mlr --icsv head -n 1 then put '$x=1' f
cmake -DCMAKE_CXX_FLAGS='-Wall -Wextra -O2' .
cmake '-DLLVM_ENABLE_PROJECTS=clang;lld' ../llvm
docker run --rm x --config y
docker service create --config a x
kubectl kustomize overlays/dev
dotnet test --logger:trx
pg_ctl -D d -l log -o '-p 5433' start
hg --config ui.username=x commit -m y
arm-none-eabi-gcc -mcpu=cortex-m4 -o x.elf a.c
avr-gcc -mmcu=atmega328p -Os a.c
nvcc -Xcompiler -fPIC -shared a.cu
apt-mark hold x
gs -sDEVICE=pdfwrite -o out.pdf in.pdf
magick a.png -draw 'text 0,0 "x"' b.png
pandoc x.md -o x.pdf --pdf-engine=xelatex --pdf-engine-opt=-halt-on-error
ed f
less -p 'a b' f
just test x=1
git filter-repo --path src
yarn exec tsc
""".strip().splitlines()


def split(line: str) -> list[str]:
    """Return the words of a line."""
    return shlex.split(line, comments=False)


@rows("line", CODE)
@pytest.mark.parametrize("policy", [LISTED, CLASSICAL], ids=["strict", "classical"])
def test_code_in_arguments_asks_under_either_trust(line: str, policy: ExecPolicy) -> None:
    """Short, long, glued, clustered and abbreviated spellings of code all ask."""
    found = evaluate(plan_of(command(*split(line))), policy, listed("/usr/bin/*"))
    assert found.decision is Decision.ASK


@rows(
    "words",
    [
        ("git", "-C"),
        ("git", "-c", "user.x"),
        ("git", "clone", "config", "-c"),
        ("python3", "-W"),
        ("python3", "-WX"),
        ("python3", "-m", "trace"),
        ("perl", "-I"),
        ("perl", "-F/"),
        ("ssh", "-o"),
        ("npm", "-a", "x"),
        ("npm", "-c=x"),
        ("uv", "sh", "-o", "x"),
        ("cmake", "-DFLAGS= -FL"),
        ("make", "A.B=", "CC="),
        ("ip", "n"),
        ("git", "", "grep"),
        ("git", "", "", "rebase"),
        ("mix", "", "run"),
        ("psql", "_\\"),
        ("sqlite3", "\n"),
        ("sqlite3", "x\n.\n"),
        ("mysql", "\n"),
        ("snowsql", "\n"),
        ("cargo", "rustc", "--"),
        ("cmake", "--build", "--"),
        ("exiftool", "${${"),
        ("php", "-d", " "),
        ("npm", "--a=", "x"),
        ("uv", "-", "lua"),
        ("npx", "-a"),
        ("less", "-pattern"),
        ("uv", "run"),
        ("python3", "-m", "uv", "run"),
        ("node", "node"),
        ("rename", "s/"),
        ("rename", "-u"),
    ],
)
@pytest.mark.parametrize("glued", [False, True], ids=["words", "glued"])
@pytest.mark.parametrize(("length", "seconds"), [(2040, 0.1), (16_000, 0.2)])
def test_repeated_options_are_judged_at_once(
    words: tuple[str, ...], length: int, seconds: float, glued: bool
) -> None:
    """No word can be read in two ways, of which a pattern would try each combination.

    Neither is the end of a pattern looked for again from each of its beginnings.
    """
    name, *repeated = words
    inline = inline_of(names_of(name))
    assert inline is not None
    arguments = repeated * (length // len(" ".join(repeated) + " "))
    given = ["".join(arguments)] if glued else arguments
    started = process_time()

    inline.looked_for(given)

    assert process_time() - started < seconds * slowness()


@rows("line", PLAIN)
def test_plain_uses_pass_under_classical_trust(line: str) -> None:
    """A listed path suffices for everything that carries no code."""
    found = evaluate(plan_of(command(*split(line))), CLASSICAL, listed("/usr/bin/*"))
    assert (found.decision, found.why) == (Decision.ALLOW, found.why)


@rows(
    "script, runs",
    [
        ("{print $1}", False),
        ("/a|b/", False),
        ("# a | b\n{print}", False),
        ('{print "a|b"}', False),
        ("{print | cmd}", True),
        ("$1 ~ /[|/]/{print}", True),
        ('{print "a', True),
        ("x" * 5000, True),
        ("/a/ || /b/", False),
        ("{x = 1 / 2; y = 3 | 4 / 5}", True),
        ("{x++ / 2}", False),
        ("{x++ //}", True),
        ("x /1 " * 70, True),
    ],
)
def test_what_awk_may_run(script: str, runs: bool) -> None:
    """A pipe counts outside of strings and regular expressions; what is unclear counts."""
    assert awk_may_run(script) is runs


@pytest.mark.parametrize(
    ("script", "runs"),
    [("p", False), ("e", True), ("", True), ("s/a/b/we", False), ("s/[/]/e/x/", True)],
)
def test_what_sed_may_run(script: str, runs: bool) -> None:
    """The command ``e`` and the flag count; an empty script may be BSD's suffix."""
    assert sed_may_run(script) is runs


def test_each_pattern_of_the_tables_can_be_read() -> None:
    """A pattern is compiled when its program is met, so a broken one would be found by a user."""
    holders = ("patterns", *Start)
    names = {
        name for one in holders for key in section(table("inline"), one) for name in key.split()
    }
    assert len(names) > 100
    assert not [name for name in sorted(names) if inline_of(frozenset((name,))) is None]
