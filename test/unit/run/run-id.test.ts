import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scenarioFile, scenarioName } from '../../../plugin/run/measurements/run-id.ts';

test('a scenario is named by its file, and its command by the path that was given', () => {
  assert.deepEqual([scenarioName('load/chat.yaml'), scenarioFile('load/chat.yaml')], ['chat', 'load/chat.yaml']);
  assert.equal(scenarioFile('/home/somebody/load/chat.yaml'), 'chat.yaml');
});
