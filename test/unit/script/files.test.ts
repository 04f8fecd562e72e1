import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { parseEngineOptions } from '../../../plugin/script/options/engine-options.ts';

const PEM = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
const folder = mkdtempSync(join(tmpdir(), 'files-test-'));
after(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'ca.pem'), PEM);
writeFileSync(join(folder, 'notes.txt'), 'nothing');

function parse(config: object, options: object) {
  const _scriptPath = join(folder, 'scenario.yml');
  const engines = { 'socketio-capacity': options };
  return parseEngineOptions({ _scriptPath, config: { target: 'https://127.0.0.1:1', ...config, engines } });
}

test('TLS files are read from the folder of the scenario; PEM text stays as it is', () => {
  const parsed = parse({ tls: { ca: './ca.pem', rejectUnauthorized: false } }, { tls: { key: PEM } });
  assert.ok('options' in parsed, JSON.stringify(parsed));
  assert.deepEqual(parsed.options.connection.tls, { ca: PEM, rejectUnauthorized: false, key: PEM });
});

test('files that cannot be read, and parsers that are not installed, are problems with their place', () => {
  const parsed = parse({ tls: { ca: 'none.pem' } }, { tls: { cert: 'notes.txt' }, parser: 'no-such-parser' });
  assert.ok('problems' in parsed);
  const problems = parsed.problems.map(({ path, message }) => `${path}: ${message}`).join('\n');
  assert.match(problems, /config\.tls\.ca: expected PEM text, or a file beside the scenario: ENOENT/);
  assert.match(problems, /config\.engines\.socketio-capacity\.tls\.cert: .*notes\.txt is not a PEM file/);
  assert.match(problems, /socketio-capacity\.parser: no parser "no-such-parser": install it beside the scenario/);
});

test('msgpack is the short name of a package', () => {
  const parsed = parse({}, { parser: 'msgpack' });
  assert.ok('options' in parsed, JSON.stringify(parsed));
  assert.match(String(parsed.options.connection.parser), /socket\.io-msgpack-parser/);
});
