"""Mask secrets in configurations and lists of processes, and leave what only resembles one."""

import time

import pytest

from core.text.printed_values import value_pieces
from core.text.render import printed
from core.text.secrets import mask
from tests.support.tables import rows

_TOKEN = "q7Rk2mZx9" + "Lw4T"


@rows(
    "text",
    [
        "ALTER ROLE a WITH LOGIN PASSWORD '{}';",
        "create user a password '{}'",
        "CREATE USER 'a'@'%' IDENTIFIED BY '{}';",
        "GRANT ALL ON *.* TO a IDENTIFIED BY PASSWORD '{}'",
        "CREATE USER a IDENTIFIED WITH mysql_native_password AS '{}'",
        "SET PASSWORD FOR a = PASSWORD('{}');",
        "bind 0.0.0.0\nrequirepass {}\nport 1",
        '  requirepass "{}"\n',
        "masterauth {}",
        "redis  1 redis-server --requirepass {} *:6379",
        "root 12 sshpass -p {} ssh a@b",
        "sshpass -p{} scp x a:",
        "sshpass -v -p '{}' ssh a",
        "1 redis-cli -h a -a {} ping",
        "STEP 3: ENV DB_PASSWORD {}",
        'ENV API_TOKEN "{}"\nRUN x',
        "ARG NPM_TOKEN {}",
        "SetEnv DB_PASSWORD {}",
        "setenv DB_PASSWORD {}\n",
        "&quot;password&quot;: &quot;{}&quot;",
        "password=&#34;{}&#34;",
        "token&#39;: &#39;{}&#39;",
        "password: &#x27;{}&#x27;",
        "- name: DB_PASSWORD\n  value: {}\n",
        '  - name: "API_TOKEN"\n    value: "{}"\n  - name: B',
        "name: x.secret\r\nvalue: '{}'",
        '"name": "DB_PASSWORD",\n   "value": "{}"',
        '{"Name": "/a/db_password",\n "Type": "SecureString",\n "Value": "{}"',
        '<add key="DbPassword" value="{}" />',
        "<property name='password' value='{}'/>",
        '<input type=hidden name="csrf_token" value="{}">',
        "+ mysql -u root -p{} db",
        "12 mysqldump -h db --single-transaction -uroot -p'{}' a",
        "/usr/bin/mariadb -p{}",
        "mariadb-admin -u root -p{} ping",
        "SQL> ALTER USER scott IDENTIFIED BY {};",
        "create user scott identified by {}",
        "CREATE DATABASE LINK a CONNECT TO b IDENTIFIED BY {} USING 'c'",
        "alter user scott identified by values '{}'",
        '1) "requirepass"\n2) "{}"',
        "requirepass\n{}\n",
        'masterauth\r\n"{}"\r\n',
    ],
)
def test_a_secret_is_masked_in_what_configures_a_program(text: str) -> None:
    """As it is printed: a command is not searched for these."""
    shown = printed(text.replace("{}", _TOKEN), 10_000).text

    assert _TOKEN not in shown
    assert "[secret: " in shown
    assert "".join(one.text for one in value_pieces(text)) == text


@rows(
    "text",
    [
        "ALTER ROLE a WITH PASSWORD NULL;",
        "ALTER ROLE a PASSWORD '$1'",
        "password 'string'",
        "the users identified by 'a b'",
        "identified by the linter",
        "SELECT PASSWORD('?')",
        "# requirepass foobared",
        "The requirepass option asks clients for AUTH",
        "requirepass is set in redis.conf",
        "Usage: sshpass [-f|-d|-p|-e] [-hV] command parameters",
        "   -p password   Provide password as argument",
        "sshpass -p $SSHPASS ssh a",
        "sshpass -p <password> ssh a",
        "redis-cli -h localhost ping",
        "ENV PATH /usr/bin:/bin",
        "ENV TOKEN is read from the file",
        "ENV API_TOKEN $TOKEN\nRUN x",
        "ARG NPM_TOKEN\nRUN npm ci",
        "SetEnv DB_PASSWORD ${DB_PASSWORD}",
        "&quot;token&quot; is not defined",
        "the token &quot;{&quot; was not expected",
        "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db",
        "- name: password\n  value: string\n",
        "- name: API_TOKEN\n  value: $(TOKEN)\n",
        "- name: token\n  in: header\n  required: true",
        "- name: tokens\n  value: 12345\n",
        "- name: Check the password\n  run: make test",
        '"name": "password",\n"value": "required"',
        '"name": "token_count",\n"value": "12345"',
        '<input name="password" value="">',
        '<field name="password" type="string" label="value">',
        '<add key="TokenPath" value="/run/a/token" />',
        "gsk_gl_renderer_new gsk_render_node_serialize_to_bytes",
        "dapi_client hvs.length dp.st.x npm_config_token r8_unorm r8_snorm_texture_format",
        "mysql -u root -p db",
        "docker run --name mysql -p3306:3306 mysql",
        "mysql -u root -p\n-rw-r--r-- 1 a",
        "mysql -h db -P3306 && mkdir -p/srv/a",
        "IDENTIFIED BY the name of its user",
        "records are identified by uuid4hex",
        "alter user scott identified by 'string'",
        "requirepass\n",
        'requirepass\n""',
        '1) "requirepass"\n2) ""',
        "requirepass\nis a setting of redis",
        "shpat_client ntn_handler figd_render PMAK- xai-sdk-python lin_api_client.get",
    ],
)
def test_what_is_no_secret_is_shown(text: str) -> None:
    """References, types, prose and the names of functions."""
    assert printed(text, 10_000).text == text.replace("\r", "").rstrip("\n")


def test_a_command_is_not_searched_for_them() -> None:
    """There it could be what runs."""
    for code in ("ENV TOKEN ./x1234567", "- name: token\n  value: ./x1234567", "sshpass -p ./x a"):
        assert mask(code) == code


@pytest.mark.parametrize(
    "unit",
    [
        *("password '", "identified with a ", "\nrequirepass a b", "redis-cli ", "redis-cli -a"),
        *("ENV a-token ", "password&quot;:", "name: token\n", "name: token\nvalue: ", "name: a"),
        *('token", "a": "b", ', "name='token'", 'key="token" value=', "sshpass -p ", "dapi"),
        *("mysql ", "mysql -p", "mysql -h a ", "IDENTIFIED BY ", "alter user a ", "requirepass\n"),
    ],
)
def test_hostile_settings_take_linear_time(unit: str) -> None:
    """A hundred kilobytes, whatever they are made of."""
    text = unit * (100_000 // len(unit))
    tries = []
    for _ in range(3):
        begun = time.process_time()
        list(value_pieces(text))
        tries.append(time.process_time() - begun)

    assert min(tries) < 0.3
