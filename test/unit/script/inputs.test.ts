/** Tests the inputs of a scenario in the conductor of several hosts, and in Artillery on each host. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readScenario } from '../../../plugin/cli/scenario-argument.ts';
import { differingInputs, digestRunInputs } from '../../../plugin/script/run-inputs.ts';
import type { Script } from '../../../plugin/script/script.ts';
import { fileTree } from '../../helpers/file-tree.ts';

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
  'flow/helper.js': '1;',
  'ca.pem': 'one',
};
const read = async (folder: string, env: NodeJS.ProcessEnv = {}, environment?: string) =>
  digestRunInputs(await readScenario(join(folder, 'scenario.yml'), environment), env);

it('the inputs of a scenario are the same for the conductor and for Artillery on a host, in any folder', async (t) => {
  const file = pathToFileURL(join(ARTILLERY, 'dist/lib/util/prepare-test-execution-plan.js')).href;
  const { default: prepare } = await import(file);
  const [conductors, hosts] = [fileTree(t, FILES), fileTree(t, FILES)];
  const script: Script = JSON.parse(JSON.stringify(await prepare([join(hosts, 'scenario.yml')], {})));
  const env = { RATE: '5', TEXT: 'x' };
  const onHost = digestRunInputs(script, { ...env, ARTILLERY_PLUGINS: '{"sqs-reporter":{}}', CAPACITY_TOKEN: 'other' });
  assert.deepEqual(differingInputs(await read(conductors, env), onHost), []);
});

it('lists the inputs of a scenario that differ between conductor and host', async (t) => {
  const one = fileTree(t, FILES);
  const scenario = (from: string, to: string) => ({ 'scenario.yml': SCENARIO.replace(from, to) });
  for (const [what, files, expected, env, environment] of [
    ['rows of a CSV file', { 'users.csv': 'ada\n' }, ['users.csv']],
    ['a processor', { 'flow/login.js': `${FILES['flow/login.js']}//` }, ['flow/login.js']],
    ['nothing for a module that the processor imports', { 'flow/helper.js': '' }, []],
    ['a certificate', { 'ca.pem': 'another' }, ['ca.pem']],
    ['the hook before', scenario('url: /', 'url: /a'), ['before']],
    ['the flow', scenario('login }', 'other }'), ['scenarios']],
    ['an option', scenario('a: 1', 'a: 2'), ['config.engines']],
    ['any other key', scenario('config:', 'config:\n  http: { timeout: 3 }'), ['config.http']],
    ['an override', {}, ['environment variable RATE'], { RATE: '7' }],
    ['a variable in a template', {}, ['environment variable TEXT'], { TEXT: 'long' }],
    ['the environment', {}, ['config.target', 'environment'], {}, 'far'],
    ["nothing for the conductor's variables", {}, [], { CAPACITY_TOKEN: 'x', CAPACITY_RESULTS: 'y', REDIS_URL: 'z' }],
    ['nothing for the folder of the results', scenario('results: out', 'live: true'), []],
  ] as [string, Record<string, string>, string[], NodeJS.ProcessEnv?, string?][]) {
    const other = fileTree(t, { ...FILES, ...files });
    assert.deepEqual(differingInputs(await read(one), await read(other, env, environment)).sort(), expected, what);
  }
});
