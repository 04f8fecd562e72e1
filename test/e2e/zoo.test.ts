/** The zoo: runs against faulty servers. Each run has an exact expectation of its counts and findings. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXIT_CODES } from '../../protocol/codes/exit-codes.ts';
import { FINDINGS } from '../../protocol/codes/finding-codes.ts';
import type { Result } from '../../protocol/result/result.ts';
import { TOKEN } from '../helpers/app.ts';
import { assertFoots, sum } from '../helpers/foots.ts';
import { inProcessScript, startInProcess } from '../helpers/in-process-run.ts';
import { reasonsOfServer } from '../helpers/run.ts';
import { assertValues } from '../helpers/verdict.ts';
import { type ApartMember, apart, startApartServer } from '../helpers/zoo/apart.ts';
import { connections } from '../helpers/zoo/connections.ts';
import { copies } from '../helpers/zoo/copies.ts';
import { BROADCASTS, CONNECTIONS, COPIES, COUNTS, type Member } from '../helpers/zoo/member.ts';
import { messages } from '../helpers/zoo/messages.ts';
import { startZooServer, type ZooServer } from '../helpers/zoo/server.ts';
import { workers } from '../helpers/zoo/workers.ts';

/** Number of concurrent runs. The runs mostly wait. */
const TOGETHER = 8;

function scriptOf({ config, variables, options, workers, room = 'capacity', step }: Member, zoo: ZooServer) {
  const { url, controlUrl } = zoo;
  const flow = [{ emit: ['join_room', { clientKey: room }] }, ...(step ? [step] : []), { hold: true }];
  return inProcessScript(
    { target: url, variables: variables?.[0], ...config },
    {
      ...(workers ? { workers: workers(zoo) } : { control: { urls: [controlUrl], token: TOKEN } }),
      warmUp: 0,
      singleRoundTrips: 1,
      broadcasts: { count: BROADCASTS, interval: 0.2 },
      drain: { quiet: 0.1 },
      ...options,
    },
    {},
    flow,
    CONNECTIONS / 2,
  );
}

function unanswered({ messages }: Result): number {
  return messages ? messages.unansweredConnected + messages.unansweredDisconnected : 0;
}

function assertFigures(member: Member, { connections, delivery, findings }: Result): void {
  const honest = { target: CONNECTIONS, peak: CONNECTIONS, failed: 0, failures: {}, lost: {}, retries: 0 };
  const accounts = { asked: CONNECTIONS, opened: CONNECTIONS, held: CONNECTIONS };
  const expected = { ...honest, ...accounts, ...member.connections };
  const found = Object.fromEntries(
    Object.keys(expected).map((key) => [key, connections[key as keyof typeof connections]]),
  );
  assert.deepEqual(found, expected);
  if (member.workers || member.delivery === null) {
    assert.equal(delivery, null);
    return;
  }
  const none = Object.fromEntries(COUNTS.map((key) => [key, 0]));
  // On a busy machine, a worker can send its broadcast after another worker has sent the next broadcast.
  const isReordered = findings.some(({ code }) => code === 'BROADCASTS_LATE');
  const counted = Object.fromEntries(COUNTS.map((key) => [key, delivery?.[key]]));
  const { reordered = 0 } = member.delivery ?? {};
  assert.deepEqual(isReordered ? { ...counted, reordered } : counted, {
    ...none,
    expected: COPIES,
    received: COPIES,
    frames: COPIES,
    ...member.delivery,
  });
}

function testMember(member: Member): void {
  it(`a run counts exactly, and has the right verdict, for a server that ${member.name}`, async (t) => {
    const zoo = await startZooServer(t, member.habits?.());
    const run = startInProcess(scriptOf(member, zoo), member.variables);
    await member.during?.(run, zoo);
    const { result, exitCode, output } = await run.ended;
    assertFoots(result);
    assertFigures(member, result);
    for (const finding of result.findings) assertValues(finding);
    assert.deepEqual(reasonsOfServer(result, member.reasons, []), member.reasons.toSorted(), output);
    const { status } = result.verdict;
    const { failed, lost } = result.connections;
    const { received = 0, expected = 0, duplicates = 0 } = result.delivery ?? {};
    const isMissed =
      failed + sum(Object.values(lost)) + duplicates > 0 ||
      received < expected ||
      unanswered(result) > 0 ||
      member.reasons.some((code) => FINDINGS[code].fails !== undefined) ||
      // On a slow machine, a server at its limit does not keep up.
      (result.outcome.status === 'FAILED' && result.findings.some(({ code }) => code === 'QUEUE_GROWS'));
    const doubted = isMissed ? EXIT_CODES.worse : status === 'VALID' ? 0 : EXIT_CODES.suspect;
    assert.equal(exitCode, status === 'INVALID' ? EXIT_CODES.invalid : doubted, output);
    assert.equal(
      status === 'INVALID',
      member.reasons.some((code) => FINDINGS[code].invalidates.includes('run')),
    );
    member.check?.(result);
  });
}

describe('the zoo of servers', { concurrency: TOGETHER }, () => {
  for (const member of [...connections, ...copies, ...messages, ...workers]) testMember(member);
});

const APART_CONNECTIONS = 200;

function testApart(member: ApartMember): void {
  it(`a run attributes to the right process the memory of a server that ${member.name}`, async (t) => {
    const { url, pids } = await startApartServer(t, member);
    const perRamp = APART_CONNECTIONS / 4;
    const ramp = { duration: 1, arrivalRate: perRamp, rampTo: perRamp };
    const phases = Array.from({ length: 4 }, () => [ramp, { pause: 0.1 }]).flat();
    const workers = { pids: member.measured?.(pids) ?? [pids.server] };
    const options = { workers, warmUp: 0, singleRoundTrips: 0, broadcasts: { count: 0 }, hold: 4 };
    const script = inProcessScript({ target: url, phases }, options, {}, [{ hold: true }]);
    const { result, output } = await startInProcess(script).ended;
    assert.equal(result.connections.held, APART_CONNECTIONS, output);
    // These servers do not collect garbage when the run requests it.
    const reasons = reasonsOfServer(result, ['MEMORY_UNEXPLAINED'], ['MEMORY_NOT_LINEAR']);
    assert.deepEqual(reasons, member.reasons, output);
    member.check(result, pids);
  });
}

// Runs one after the other, because each run sees the memory of the others on this machine.
describe('memory beside the measured processes', () => {
  for (const member of apart) testApart(member);
});
