"""Recognise programs that start others, or load code, if a file that their words name says so."""

# ruff: noqa: PTH119
# pathlib is ten times slower here.

import re
from dataclasses import dataclass
from functools import lru_cache
from os.path import basename
from typing import Final

_NEVER: Final = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class Reader:
    """Programs whose plain operands are data; options ``letter`` and ``names`` take files of code.

    A ``fed`` program reads code from its input, unless an ``inline`` option says what to do or it
    has as many operands as ``operands``; ``alone`` matches options that take no word. With one of
    the options ``asks`` it always does. ``program``: without ``-f``, its first operand is code.
    ``speaks``: texts in its words may name files of code. ``letter`` may be a class of letters, and
    a long option may be abbreviated, or spelled with ``prefix``. ``setting`` matches a whole word;
    its group names a file; not after a first word of ``compiles``, a subcommand that runs none of
    them. ``enters``: before it reads the files that its words name, it may change to a folder that
    they name. ``loose``: a value may be something else than a file, such as an installed module or
    a container's name. ``imports`` matches options whose values are modules of Python; its last
    group is a value in the same word.
    """

    letter: str
    names: frozenset[str]
    fed: bool = False
    inline: re.Pattern[str] = _NEVER
    operands: int = 0
    alone: re.Pattern[str] = _NEVER
    asks: re.Pattern[str] = _NEVER
    program: bool = False
    speaks: bool = False
    prefix: str = "--"
    setting: re.Pattern[str] = _NEVER
    compiles: frozenset[str] = frozenset()
    enters: bool = False
    loose: bool = False
    imports: re.Pattern[str] = _NEVER


_INCLUDES_IN_GIT: Final = re.compile(
    r"(?:-[A-Za-z0-9]*c|--c[a-z]*=)?(?is:include(?:if\..*)?\.path=(.+))"
)
_SCRIPT_OF_R: Final = re.compile(r"([^-].*\.R)", re.DOTALL)
_SCRIPT_OF_RUST: Final = re.compile(r"([^-].*\.rs)", re.DOTALL)
_SUITE_OF_ROBOT: Final = re.compile(r"([^-].*\.(?:robot|resource))", re.DOTALL)
_FILES_OF_DOCKER: Final = frozenset(("file", "compose-file"))
_PLUGINS_OF_PYTEST: Final = re.compile(
    r"-[hlqsvx]*p(.*)|--(?:pdbcls|ds)(?:=(.*))?|(?s:.*)addopts=(?s:.*)-p\s*([\w.]+)(?s:.*)"
)
_PLUGINS_OF_PYLINT: Final = re.compile(r"--load-pl[a-z]*(?:=(.*))?")
_SETTINGS: Final = re.compile(r"--settings(?:=(.*))?")
_COLLECTION: Final = re.compile(r"-[A-Za-z]*?c(.*)|--collection(?:=(.*))?")
_FILES_OF_ANSIBLE: Final = frozenset(
    (
        "inventory",
        "inventory-file",
        "vault-id",
        "vault-password-file",
        "become-password-file",
        "connection-password-file",
    )
)
_OPERAND: Final = re.compile(r"([^-].*)", re.DOTALL)
_PATH: Final = re.compile(r"([^-].*/.*|/.*)", re.DOTALL)
_PLAN_OF_TERRAFORM: Final = re.compile(r"(?:--?var-file=)?([^-].*)", re.DOTALL)
_SOURCE: Final = re.compile(
    r"(?:--?[a-z-]+=)?([^-].*\.(?:go|mod|json|swift|cr|nim|zig|kts?|dart|ml|hs|exs?|cljs?|lisp|raku"
    r"|bats|lua|[cm]?[jt]s|csx?|fsx|dll|exe|jar|java|d|py|sh|rb))",
    re.DOTALL,
)
"""A file of source code, or of what was compiled from it."""
_SCRIPT_OF_KOTLIN: Final = re.compile(r"([^-].*\.kts)", re.DOTALL)
_COMPILES: Final = frozenset(("build", "vet", "fmt", "format", "analyze", "doc", "list"))
"""A file may change between two of them: agents edit what they compile.

Only of compilers that run nothing of a program: Zig's build files, Crystal's and Nim's macros and
what formats Elixir do.
"""

_SUFFIX_OF_NODE: Final = re.compile(r"(?<=.)\.[cm]?js\Z")
_ANYTHING: Final = re.compile(r"(?:--?[\w.-]+=)?@?([^-].*)", re.DOTALL)
_LISTED_WORDS: Final = re.compile(r"@(.+)", re.DOTALL)
_NAMED_FILE: Final = frozenset(("file",))
_OPTION_FILES: Final = frozenset(
    (
        *("append-config", "argumentfile", "autoload-file", "bazelrc", "bootstrap", "buildfile"),
        *("config", "config-file", "configFile", "configuration", "env-file", "environment"),
        *("configfile", "fabfile", "file", "global-settings", "gruntfile", "gulpfile", "import"),
        *("init-script", "jobscript", "js", "procfile", "settings-file", "standard", "stack-yaml"),
        *("knexfile", "listener", "locustfile", "log-config", "noxfile", "options", "parser"),
        *("paste", "plugin", "prepend", "prerebotmodifier", "prerunmodifier", "rcfile", "reporter"),
        *("require", "runner", "scripts", "settings", "setup", "snakefile", "toolchains"),
        *("variablefile", "globalSetup", "setupFiles"),
    )
)
_MODULES_OF_NODE: Final = _OPTION_FILES | frozenset(
    (
        *("compiler", "custom-formatter", "custom-syntax", "dataSource", "extends", "filter"),
        *("format", "formatter", "globalTeardown", "haste", "helper", "loader", "middlewares"),
        *("node-option", "opts", "package", "parser-preset", "plopfile", "plugins", "presets"),
        *("preprocessor", "puppeteer-script", "reporters", "resolver", "rule", "rules", "ruleset"),
        *("setupFilesAfterEnv", "snapshotEnvironment", "snapshotSerializers", "testEnvironment"),
        *("testResultsProcessor", "testRunner", "testSequencer", "theme", "transform", "ui", "use"),
        *("validate", "watchPlugins", "workspace", "coverage.customProviderModule", "nycrc-path"),
        *("config-path", "configPlugin", "preload", "rc-path"),
    )
)
_BY_NAME: Final = Reader("(?!)", _OPTION_FILES)
_BY_C: Final = Reader("c", _OPTION_FILES)
_OF_NODE: Final = Reader("[crCf]", _MODULES_OF_NODE, loose=True)
_RUNS_ITS_WORDS: Final = Reader("[A-Za-np-z](?=.)", _OPTION_FILES, setting=_ANYTHING, loose=True)
# Left out: programs that go on in the background (pm2, bazel), as nobody answers what they open
# after the run, and those with set-user-ID helpers (podman), which gain no rights with bound files.
_CONFIGURED: Final = (
    (re.compile(r"sftp"), Reader("[Fb]", frozenset())),
    (re.compile(r"ssh|slogin|autossh|scp|sshfs"), Reader("F", frozenset())),
    (re.compile(r"tmux|nginx"), Reader("[fc]", frozenset(("file",)))),
    (re.compile(r"R|r"), Reader("f", frozenset(("file",)), setting=_SCRIPT_OF_R)),
    (re.compile(r"latexmk"), Reader("r", frozenset())),
    (re.compile(r"gradlew?"), Reader("[Ibc]", frozenset(("init-script", "build-file")))),
    (re.compile(r"meson"), Reader("(?!)", frozenset(("native-file", "cross-file")))),
    (re.compile(r"openssl"), Reader("config=?", frozenset(("config",)))),
    (re.compile(r"wget2?"), Reader("(?!)", frozenset(("config",)))),
    (
        re.compile(r"cargo"),
        Reader("(?!)", _OPTION_FILES, setting=_SCRIPT_OF_RUST, compiles=frozenset(("fmt",))),
    ),
    (
        re.compile(
            r"goreleaser|ko|earthly|devspace|pulumi|circleci|gitlab-ci-local|terragrunt|sam"
        ),
        Reader("[cft]", _OPTION_FILES | {"template", "terragrunt-config"}, loose=True),
    ),
    (
        re.compile(r"guard|whenever|jekyll|cucumber|bundler?|rails"),
        Reader("[Gfrm]", _OPTION_FILES | {"guardfile", "gemfile", "template"}, loose=True),
    ),
    (re.compile(r"curl"), Reader("K", frozenset(("config",)))),
    (re.compile(r"man|apropos|whatis|manpath|mandb"), Reader("C", frozenset(("config-file",)))),
    (
        re.compile(r"kubectl|oc|helm|helmfile|skaffold|tilt"),
        Reader(
            "[fk]",
            frozenset(("custom", "file", "filename", "kubeconfig", "patch-file", "values")),
            loose=True,
        ),
    ),
    (re.compile(r"docker(?:-compose)?|nerdctl"), Reader("[fc]", _FILES_OF_DOCKER, loose=True)),
    (
        re.compile(r"terraform|tofu|packer|nomad"),
        Reader("(?!)", frozenset(), setting=_PLAN_OF_TERRAFORM),
    ),
    (re.compile(r"prove"), Reader("(?!)", frozenset(("rc",)), setting=_OPERAND)),
    (
        re.compile(r"pytest|py\.test"),
        Reader(
            "c",
            _OPTION_FILES | {"cov-config"},
            setting=_LISTED_WORDS,
            imports=_PLUGINS_OF_PYTEST,
            loose=True,
        ),
    ),
    (re.compile(r"tox|hypercorn|alembic|gunicorn|bandit|molecule|pre[-_]commit|prek"), _BY_C),
    (re.compile(r"supervisord|supervisorctl|air|golangci-lint"), _BY_C),
    (re.compile(r"pylint"), Reader("(?!)", _OPTION_FILES, imports=_PLUGINS_OF_PYLINT)),
    (
        re.compile(r"mypy|flake8|coverage|uvicorn|ipython3?"),
        Reader("(?!)", _OPTION_FILES, setting=_LISTED_WORDS),
    ),
    (
        re.compile(r"jupyter(?:-[a-z]+)?"),
        Reader("(?!)", _OPTION_FILES, setting=re.compile(r"([^-].*\.ipynb)", re.DOTALL)),
    ),
    (re.compile(r"django(?:-admin)?|manage\.py"), Reader("(?!)", frozenset(), imports=_SETTINGS)),
    (re.compile(r"invoke|inv|fab"), Reader("f", _OPTION_FILES, imports=_COLLECTION)),
    (re.compile(r"ant"), Reader("(?:buildfile|file|find|lib|f)=?", _OPTION_FILES)),
    (re.compile(r"mvnw?"), Reader("(?:f|s|t|gs)", _OPTION_FILES)),
    (re.compile(r"nox|doit|locust|mkdocs|honcho|foreman|overmind"), Reader("f", _OPTION_FILES)),
    (re.compile(r"task|go-task|act"), Reader("[tW]", frozenset(("taskfile", "workflows")))),
    (re.compile(r"snakemake|kernprof|mitm(?:dump|proxy|web)"), Reader("s", _OPTION_FILES)),
    (re.compile(r"robot|pabot"), Reader("[APV]", _OPTION_FILES, setting=_SUITE_OF_ROBOT)),
    (
        re.compile(
            r"vite|webpack|rspack|tsup(?:-node)?|eslint|stylelint|nyc|c8|ava"
            r"|karma|babel|tailwindcss|gulp|grunt|knex|graphql-codegen|cdk"
            r"|lint-staged|serverless|sls|jasmine"
            r"|rubocop|puma|unicorn|sidekiq|phpunit|psalm|rector|php-cs-fixer|pest|phpcs"
            r"|nightwatch|testcafe|tape|uvu|sequelize(?:-cli)?|drizzle-kit|prisma|mikro-orm|swc"
            r"|parcel|lessc|svgo|depcruise|knip|markdownlint(?:-cli2)?|textlint|plop"
            r"|browser-sync|cucumber-js|stryker|web-test-runner|wtr|lhci|lighthouse|pa11y(?:-ci)?"
            r"|newman|spectral|rsbuild|farm|xo|tslint|testem|qunit|electron-builder|purgecss|size-limit"
            r"|i18next(?:-parser)?|lingui|orval|openapi-ts|node-pg-migrate|migrate-mongo|unocss"
            r"|typedoc|jsdoc|docusaurus|vuepress|astro|eleventy|wrangler|release-it|detox|syncpack|metro"
        ),
        _OF_NODE,
    ),
    (re.compile(r"jest|vitest|playwright|cypress"), Reader("[crC]", _MODULES_OF_NODE, loose=True)),
    (re.compile(r"mocha|postcss|remark"), Reader("[crRCufn]", _MODULES_OF_NODE, loose=True)),
    (re.compile(r"prettier"), Reader("(?!)", _MODULES_OF_NODE, loose=True)),  # `-c` only checks
    (re.compile(r"phpstan"), Reader("[ac]", _MODULES_OF_NODE, loose=True)),
    (re.compile(r"rollup|browserify"), Reader("[cpt]", _MODULES_OF_NODE - _NAMED_FILE, loose=True)),
    (
        re.compile(r"jscodeshift|typeorm(?:-[a-z-]+)?|commitlint|semantic-release"),
        Reader("[degmoprtx]", _MODULES_OF_NODE, loose=True),
    ),
    (re.compile(r"rspec|tap|rake"), Reader("[rO]", _OPTION_FILES, loose=True)),  # `-c` is colour
    (
        re.compile(
            r"irb|pry|rackup|thin|cap|gjs|qjs|tjs|rhino|jjs|jrunscript|csi|gsi|ros|clisp|ecl|utop|ghci"
            r"|swipl|gprolog|raco|dub|rust-script|littler|plackup|starman|morbo|hypnotoad|ptpython|bpython"
            r"|torchrun|accelerate|deepspeed|fil-profile|mprof|streamlit|chainlit|gradio|panel|bokeh"
            r"|fastapi|marimo|mesop|solara|shiny|modal|bentoml|sbatch|qsub|bsub|shellspec"
            r"|bash_unit|shunit2|phing|dep|deployer|robo|drush|wp|haxe|protractor|nix-build|circusd|flask"
            r"|hardhat|truffle|wdio|karma|electron|probot|micro|fastify|json-server|artillery|workbox"
            r"|coffee|lsc|pelican|scrapy|prefect|dagster|dvc|nikola|goreman|hivemind|modd|wgo|gow|txiki"
            r"|torch\.distributed\.(?:run|launch)|accelerate\.commands\.launch"
        ),
        _RUNS_ITS_WORDS,
    ),
    (re.compile(r"kotlinc"), Reader("(?!)", frozenset(), setting=_SCRIPT_OF_KOTLIN)),
    (
        re.compile(r"go|dart"),
        Reader("(?!)", frozenset(), setting=_SOURCE, compiles=_COMPILES),
    ),
    (
        re.compile(
            r"kotlin|ocaml|run(?:ghc|haskell)|iex|bb|nbb|sbcl|raku|bats|busted|k6|jbang|rdmd|mono"
            r"|swift|crystal|nim|zig|mix|dotnet|stack|cabal|scala-cli|cargo-script"
        ),
        Reader("(?!)", frozenset(("project-file", "settings", "stack-yaml")), setting=_SOURCE),
    ),
    (re.compile(r"pgbench"), Reader("f", frozenset(("file",)))),
    (
        re.compile(r"ansible(?:-(?:playbook|pull))?"),
        Reader("i", _FILES_OF_ANSIBLE, setting=_ANYTHING),
    ),
    (re.compile(r"ansible-[a-z]+"), Reader("i", _FILES_OF_ANSIBLE)),
    (re.compile(r"ifup|ifdown"), Reader("i", frozenset(("interfaces",)))),
    (re.compile(r"logrotate|openvpn"), Reader("(?!)", frozenset(), setting=_OPERAND)),
    (re.compile(r"wg-quick|systemctl"), Reader("(?!)", frozenset(), setting=_PATH)),
    (re.compile(r"screen"), Reader("c", frozenset())),
    (
        re.compile(r"git"),
        Reader("(?!)", frozenset(), setting=_INCLUDES_IN_GIT),
    ),
    (
        re.compile(
            r"(?:.*-)?(?:gcc|g\+\+|cc|c\+\+|cpp|clang|clang\+\+|ld|ar|rustc|javac)(?:-[0-9.]+)?"
        ),
        Reader("(?!)", frozenset(("specs",)), setting=re.compile(r"(?:@|-specs=)(.+)", re.DOTALL)),
    ),
)
"""Programs that start others if a file of options, which their words name, says so."""


@lru_cache(maxsize=1024)
def configured_by(path: str) -> Reader | None:
    """Return how the words of a program name a file of options, ``None`` if they name none."""
    name = _SUFFIX_OF_NODE.sub("", basename(path))  # `node node_modules/jest/bin/jest.js`
    return next((reader for names, reader in _CONFIGURED if names.fullmatch(name)), None)
