import assert from 'node:assert/strict';
import { it } from 'node:test';
import { diagnose, printDiagnosis } from '../../../plugin/doctor/diagnosis.ts';
import { remote, situation } from '../../helpers/situation.ts';

const withoutRedis = situation({ machine: { missing: ['redis-server'] } });
const embedded = situation({
  deployment: { profile: 'embedded', missing: ['redis-server'], starts: { nginx: false, redis: 0, pm2: true } },
});

it('the doctor prints the missing program that a run needs, or the profile without it', () => {
  const [needed, optional] = [withoutRedis, embedded].map((given) => printDiagnosis(diagnose(given), given, 200));
  assert.match(needed ?? '', /\nredis-server is not installed: npm run setup\n.*embedded profile: one worker/);
  assert.match(needed ?? '', /connections would fit \(.*\), but the run does not start without redis-server\.$/);
  assert.match(optional ?? '', /\nredis-server is not installed, so the run starts the embedded profile: one worker/);
});

const few = { machine: { openFiles: { soft: 600, hard: 600, ceiling: 600 } } };

for (const [what, given, ending, not] of [
  ['connections fit the bundled stack', situation(), /^32,000 connections fit \(at most /, /generate/],
  [
    'connections do not fit the bundled stack',
    situation(few),
    /^32,000 connections do not fit: at most .*, limited by generator files\.$/,
    /generate/,
  ],
  [
    'this machine can generate connections to another server',
    remote({ load: { connections: 10_000 } }),
    /^This machine can generate 10,000 connections \(.*whether the server holds/,
    /fit/,
  ],
  [
    'this machine cannot generate connections to another server',
    remote({ ...few, load: { client: 'external' } }),
    /^This machine cannot generate 32,000 connections: at most .*, limited by generator files\.$/,
    /fit/,
  ],
] as const) {
  it(`the doctor prints that ${what}`, () => {
    const last = printDiagnosis(diagnose(given), given, 80).split('\n').at(-1) ?? '';
    assert.match(last, ending);
    assert.doesNotMatch(last, not);
  });
}
