/** What a scenario reads, as the conductor of several hosts and Artillery on each of them see it. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readScenario } from '../../../plugin/cli/scenario.ts';
import { differences, inputsOf } from '../../../plugin/script/inputs.ts';
import type { Script } from '../../../plugin/script/script.ts';

const ARTILLERY = dirname(createRequire(import.meta.url).resolve('artillery/package.json'));
const SCENARIO = `
config:
  target: http://127.0.0.1:8080
  phases: [{ duration: 2, arrivalRate: 5, rampTo: 5 }]
  environments: { far: { target: "http://10.0.0.1" } }
  payload: { path: users.csv, fields: [name] }
  processor: ./flow/login.js
  variables: { here: "{{ $dirname }}" }
  tls: { ca: ca.pem }
  engines: { socketio-capacity: { auth: { a: 1 } } }
  plugins: { socketio-capacity: { results: out, control: { urls: ["http://10.0.0.2:1"], token: "{{ $env.CAPACITY_TOKEN }}" } } }
before: { engine: http, flow: [{ get: { url: / } }] }
scenarios:
  - engine: socketio-capacity
    flow: [{ function: login }, { emit: [say, "{{ $env.TEXT }}"] }, { hold: true }]
`;
const FILES = {
  'scenario.yml': SCENARIO,
  'users.csv': 'ada\ngrace\n',
  'flow/login.js': "import './helper.js';\nexport async function login() {}",
  'flow/helper.js': "require('./words');",
  'flow/words.json': '[]',
  'ca.pem': 'one',
};
const root = mkdtempSync(join(tmpdir(), 'inputs-'));
after(() => rmSync(root, { recursive: true }));

function project(name: string, changes: Record<string, string> = {}): string {
  const folder = join(root, name);
  for (const [file, text] of Object.entries({ ...FILES, ...changes })) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  }
  return folder;
}

const read = async (folder: string, env: NodeJS.ProcessEnv = {}, environment?: string) =>
  inputsOf(await readScenario(join(folder, 'scenario.yml'), environment), env);

it('is the same for the conductor and for Artillery on a host, wherever the files are', async () => {
  const file = pathToFileURL(join(ARTILLERY, 'dist/lib/util/prepare-test-execution-plan.js')).href;
  const { default: prepare } = await import(file);
  const conductors = project('conductor');
  const hosts = join(root, 'elsewhere/host');
  cpSync(conductors, hosts, { recursive: true });
  const script: Script = JSON.parse(JSON.stringify(await prepare([join(hosts, 'scenario.yml')], {})));
  const env = { RATE: '5', TEXT: 'x' };
  const onHost = inputsOf(script, { ...env, ARTILLERY_PLUGINS: '{"sqs-reporter":{}}', CAPACITY_TOKEN: 'other' });
  assert.deepEqual(differences(await read(conductors, env), onHost), []);
});

it('names what differs', async () => {
  const one = project('one');
  for (const [what, files, expected, env, environment] of [
    ['rows of a CSV file', { 'users.csv': 'ada\n' }, ['users.csv']],
    ['a processor', { 'flow/login.js': `${FILES['flow/login.js']}//` }, ['flow/login.js']],
    ['what the processor imports', { 'flow/words.json': '[1]' }, ['flow/words.json']],
    ['a certificate', { 'ca.pem': 'another' }, ['ca.pem']],
    ['the hook before', { 'scenario.yml': SCENARIO.replace('url: /', 'url: /a') }, ['before']],
    ['the flow', { 'scenario.yml': SCENARIO.replace('login }', 'other }') }, ['scenarios']],
    ['an option', { 'scenario.yml': SCENARIO.replace('a: 1', 'a: 2') }, ['config.engines']],
    [
      'any other key',
      { 'scenario.yml': SCENARIO.replace('config:', 'config:\n  http: { timeout: 3 }') },
      ['config.http'],
    ],
    ['an override', {}, ['environment variable RATE'], { RATE: '7' }],
    ['a variable in a template', {}, ['environment variable TEXT'], { TEXT: 'long' }],
    ['the environment', {}, ['config.target', 'environment'], {}, 'far'],
    ['nothing that only the conductor needs', {}, [], { CAPACITY_TOKEN: 'x', CAPACITY_RESULTS: 'y', REDIS_URL: 'z' }],
    ['not where results go', { 'scenario.yml': SCENARIO.replace('results: out', 'live: true') }, []],
  ] as [string, Record<string, string>, string[], NodeJS.ProcessEnv?, string?][]) {
    const other = project('other', files);
    assert.deepEqual(differences(await read(one), await read(other, env, environment)).sort(), expected, what);
  }
});
