import assert from 'node:assert/strict';
import { it } from 'node:test';
import { DockerfileParser } from 'dockerfile-ast';
import { validate } from 'dockerfile-utils';
import { parse } from 'yaml';
import { assertEach } from '../../helpers/columns.ts';
import { CHARTS, readDeployed } from '../../helpers/deploy.ts';
import { page } from '../../helpers/pages.ts';

const text = readDeployed('Dockerfile');
const instructions = DockerfileParser.parse(text).getInstructions();
const manifest = JSON.parse(page('package.json'));

it('the Dockerfile passes a linter', () => {
  assertEach(validate(text), ({ message, range }) => `line ${range.start.line + 1}: ${message}`, []);
});

it('the Dockerfile sets a user that Kubernetes recognises as not root', () => {
  const user = instructions.findLast((one) => one.getKeyword() === 'USER')?.getArgumentsContent();
  assert.match(user ?? '', /^[1-9]\d*:[1-9]\d*$/);
});

it('the Dockerfile uses the Node version of all tests', () => {
  const major = manifest.devDependencies.node.split('.')[0];
  assert.match(text, new RegExp(`^ARG NODE_IMAGE=node:${major}-`, 'm'));
});

it('the Dockerfile copies the manifest of every workspace, which npm ci needs', () => {
  for (const workspace of manifest.workspaces) assert.ok(text.includes(`COPY ${workspace}/package.json ${workspace}/`));
});

for (const chart of CHARTS) {
  it(`the Docker image has the version that the chart ${chart} installs`, () => {
    const { appVersion } = parse(readDeployed(`helm/${chart}/Chart.yaml`));
    const { image } = parse(readDeployed(`helm/${chart}/values.yaml`));
    assert.deepEqual([appVersion, image.tag], [manifest.version, manifest.version]);
    assert.match(text, new RegExp(`-t socketio-capacity:${manifest.version} `));
  });
}
