import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withNamedCredentials } from '../../../plugin/cli/init/credentials.ts';

test('replaces credentials of flow and publisher in a scenario by environment variables, and keeps the rest', (t) => {
  const names = ['PASSWORD', 'TOKEN', 'TOKEN_2', 'KEY'];
  t.after(() => names.map((name) => delete process.env[name]));
  const flow = [
    { post: { url: '/login?key=canary-1&page=2', json: { user: 'ada', password: 'canary-2' } } },
    { emit: ['join', { token: 'canary-3' }] },
  ];
  const publish = { event: 'say', args: [{ id: '$id', token: 'canary-4' }] };
  const { named, variables } = withNamedCredentials({ flow, publish });
  assert.deepEqual(named, {
    flow: [
      { post: { url: '/login?key={{ $env.KEY }}&page=2', json: { user: 'ada', password: '{{ $env.PASSWORD }}' } } },
      { emit: ['join', { token: '{{ $env.TOKEN }}' }] },
    ],
    publish: { event: 'say', args: [{ id: '$id', token: '{{ $env.TOKEN_2 }}' }] },
  });
  assert.deepEqual(variables.toSorted(), names.toSorted());
  assert.deepEqual(
    names.map((name) => process.env[name]),
    ['canary-2', 'canary-3', 'canary-4', 'canary-1'],
  );
});
