/**
 * Opens as many connections at once as the user allows, to find a limit of the server or of a proxy per address. If
 * some are refused, opens more, one per second. The outcome shows the kind of limit:
 * - all are accepted: the rate is limited
 * - some are accepted, some are refused: there is no limit
 * - all are refused, even after all connections were closed: the rate is limited over a longer time, such as a minute
 * - otherwise: the number of connections is limited
 */
import { setTimeout as delay } from 'node:timers/promises';
import { decimalsText } from '../../../report/text/format.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import type { RunSocket } from '../../run/receivers/run-connection.ts';
import { type ExaminedTarget, runTargetCheck, type TargetCheck, type TargetFinding } from './target-check.ts';

const TRIES = { min: 3, max: 40 };
/**
 * Share of its maximum number of connections that a server may leave unused. nginx stops accepting connections when
 * only an eighth of its slots is free.
 */
const UNUSED_SHARE = 0.15;
/**
 * Number of further connection attempts if all connections of the burst were refused. If a smaller share was refused,
 * more attempts are needed. With random refusals, all attempts would succeed in one of 20 cases.
 */
const SURE = 3;
const REST_MS = 1000;

export function checkBurst({ clients, signal }: ExaminedTarget, connections: number): Promise<TargetCheck> {
  return runTargetCheck('burst', `${connections} connections at once`, async () => {
    const held: RunSocket[] = [];
    const failures: Error[] = [];
    // Numbers of closed connections: of the burst, and of the connections that were opened one by one afterwards.
    const closed = { burst: 0, later: 0 };
    let isClosing = false;
    const open = async (when: keyof typeof closed) => {
      try {
        const { socket } = await connectClient(clients.nextTemporary(), signal);
        held.push(socket);
        void socket.ended.then(() => (closed[when] += isClosing ? 0 : 1));
        return true;
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error as Error);
        return false;
      }
    };
    const closeAll = () => {
      isClosing = true;
      for (const socket of held.splice(0)) void socket.disconnect();
    };
    try {
      // Waits until the server has noticed that the connections of the other checks are closed.
      await delay(REST_MS, undefined, { signal });
      const beganMs = performance.now();
      await Promise.all(Array.from({ length: connections }, () => open('burst')));
      // The duration is printed, because a server can also limit the rate by delaying connections without refusing any.
      const seconds = decimalsText((performance.now() - beganMs) / 1000, 1);
      const refused = failures.length;
      const [reason = ''] = failures.map(({ message }) => message);
      const found = () =>
        `${connections - refused} of ${connections} were accepted${closed.burst > 0 ? `, and ${closed.burst} of them closed` : ''}${refused > 0 ? ` (${reason})` : ''}`;
      const failed = (why: string, fix: string): TargetFinding => ({ status: 'failed', found: found() + why, fix });
      const restAndOpen = async () => {
        await delay(REST_MS, undefined, { signal });
        return open('later');
      };
      await delay(REST_MS, undefined, { signal });
      if (refused + closed.burst === 0)
        return { status: 'ok', found: `all were accepted within ${seconds} s, and stayed open` };
      if (refused > 0) {
        const sure = Math.ceil((SURE * connections) / refused);
        const tries = Math.min(TRIES.max, Math.max(TRIES.min, sure, Math.ceil(held.length * UNUSED_SHARE)));
        let later = 0;
        while (later < tries && (await restAndOpen())) later++;
        const isAllAccepted = later === tries;
        // New connections that only replace closed connections do not show a limit of the rate.
        const isEnough = later > closed.burst + closed.later && later >= sure;
        if (isAllAccepted && isEnough)
          return failed('; later, one by one, all were accepted: the rate is limited', RATE);
        if (closed.burst + closed.later === 0 && (isAllAccepted || (await restAndOpen()))) {
          const outcome = isAllAccepted
            ? `all of ${later} were accepted`
            : 'one was refused, and the next one was accepted';
          return failed(`; later, one by one, ${outcome}: this shows no limit`, NO_LIMIT);
        }
      }
      closeAll();
      return refused > 0 && !(await restAndOpen())
        ? failed('; one more was refused after all had closed: the rate is limited', RATE)
        : failed(': the number of connections is limited', NUMBER);
    } finally {
      closeAll();
    }
  });
}

const RATE = 'raise it for this address, or lower the arrival rate; nginx: limit_req; HAProxy: rate-limit sessions';
const NUMBER =
  'raise it for this address; nginx: limit_conn, worker_connections; HAProxy: maxconn; the server: open files, and its own limit per address';
const NO_LIMIT =
  'see the logs of proxy and server for these connections; if several servers share the address, one may not answer';
