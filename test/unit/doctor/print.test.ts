/** What `doctor` ends with. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { diagnose, printDiagnosis } from '../../../plugin/doctor/diagnosis.ts';
import { remote, situation } from '../../helpers/situation.ts';

const withoutRedis = situation({ machine: { missing: ['redis-server'] } });
const embedded = situation({
  deployment: { profile: 'embedded', missing: ['redis-server'], starts: { nginx: false, redis: 0, pm2: true } },
});

it('names the program without which the run does not start, and the profile that does without it', () => {
  const [needed, optional] = [withoutRedis, embedded].map((found) => printDiagnosis(diagnose(found), found, 200));
  assert.match(needed ?? '', /\nredis-server is not installed: npm run setup\n.*embedded profile: one worker/);
  assert.match(needed ?? '', /connections would fit \(.*\), but the run does not start without redis-server\.$/);
  assert.match(optional ?? '', /\nredis-server is not installed, so the run starts the embedded profile: one worker/);
});

const few = { machine: { openFiles: { soft: 600, hard: 600, ceiling: 600 } } };

for (const [what, found, ending, not] of [
  ['ours fits', situation(), /^32,000 connections fit \(at most /, /generate/],
  [
    'ours does not fit',
    situation(few),
    /^32,000 connections do not fit: at most .*, limited by generator files\.$/,
    /generate/,
  ],
  [
    'another can be asked',
    remote({ load: { connections: 10_000 } }),
    /^This machine can generate 10,000 connections \(.*whether the server holds/,
    /fit/,
  ],
  [
    'another cannot be asked',
    remote({ ...few, load: { client: 'external' } }),
    /^This machine cannot generate 32,000 connections: at most .*, limited by generator files\.$/,
    /fit/,
  ],
] as const) {
  it(`says whether ${what}`, () => {
    const last = printDiagnosis(diagnose(found), found, 80).split('\n').at(-1) ?? '';
    assert.match(last, ending);
    assert.doesNotMatch(last, not);
  });
}
