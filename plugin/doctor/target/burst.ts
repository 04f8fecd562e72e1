/**
 * As many connections at once as the user allows: whether something in between, or the server, limits how many one address may
 * have or open. Only then some more, one by one: where these are let in, what was refused came too fast, and not one too many.
 * So it did where one is refused although all have left: who counts a whole minute still counts them. Where now one is refused and
 * now one is not, at whatever pace, it is no limit.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { decimals } from '../../../report/text/format.ts';
import { connectClient } from '../../run/receivers/connect-client.ts';
import type { RunSocket } from '../../run/receivers/run-connection.ts';
import { check, type Finding, type Subject, type TargetCheck } from './target-check.ts';

const TRIES = { least: 3, most: 40 };
/** A burst does not fill the last places: nginx needs two for each connection, and accepts nobody into the last eighth of them. */
const LEFT_SHARE = 0.15;
/** Times the share that was refused: if it were refused by chance, that many would pass in one of 20 cases. */
const SURE = 3;
const REST_MS = 1000;

export function checkBurst({ clients, signal }: Subject, connections: number): Promise<TargetCheck> {
  return check('burst', `${connections} connections at once`, async () => {
    const held: RunSocket[] = [];
    const failures: Error[] = [];
    // Of those at once, and of those one by one.
    const ended = { first: 0, later: 0 };
    let isLeaving = false;
    const open = async (when: keyof typeof ended) => {
      try {
        const { socket } = await connectClient(clients.nextTemporary(), signal);
        held.push(socket);
        void socket.ended.then(() => (ended[when] += isLeaving ? 0 : 1));
        return true;
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error as Error);
        return false;
      }
    };
    const leave = () => {
      isLeaving = true;
      for (const socket of held.splice(0)) void socket.disconnect();
    };
    try {
      // What the other checks had open is not counted among these.
      await delay(REST_MS, undefined, { signal });
      const beganMs = performance.now();
      await Promise.all(Array.from({ length: connections }, () => open('first')));
      // Whoever lets them wait for each other limits the rate, too, and refuses nobody.
      const seconds = decimals((performance.now() - beganMs) / 1000, 1);
      const refused = failures.length;
      const [said = ''] = failures.map(({ message }) => message);
      const found = () =>
        `${connections - refused} of ${connections} were let in${ended.first > 0 ? `, and ${ended.first} of them ended` : ''}${refused > 0 ? ` (${said})` : ''}`;
      const because = (why: string, fix: string): Finding => ({ status: 'failed', found: found() + why, fix });
      const restAndOpen = async () => {
        await delay(REST_MS, undefined, { signal });
        return open('later');
      };
      await delay(REST_MS, undefined, { signal });
      if (refused + ended.first === 0)
        return { status: 'ok', found: `all were let in within ${seconds} s, and stayed` };
      if (refused > 0) {
        const sure = Math.ceil((SURE * connections) / refused);
        const tries = Math.min(TRIES.most, Math.max(TRIES.least, sure, Math.ceil(held.length * LEFT_SHARE)));
        let later = 0;
        while (later < tries && (await restAndOpen())) later++;
        const areAllIn = later === tries;
        // Those that ended have made room for as many.
        const isEnough = later > ended.first + ended.later && later >= sure;
        if (areAllIn && isEnough) return because('; later, one by one, all were: the rate is limited', RATE);
        if (ended.first + ended.later === 0 && (areAllIn || (await restAndOpen()))) {
          const some = areAllIn ? `all of ${later} were` : 'one was not, and the next one was';
          return because(`; later, one by one, ${some}: no limit shows`, NO_LIMIT);
        }
      }
      leave();
      return refused > 0 && !(await restAndOpen())
        ? because('; nor was one after all had left: the rate is limited', RATE)
        : because(': their number is limited', NUMBER);
    } finally {
      leave();
    }
  });
}

const RATE = 'raise it for this address, or lower the arrival rate; nginx: limit_req; HAProxy: rate-limit sessions';
const NUMBER =
  'raise it for this address; nginx: limit_conn, worker_connections; HAProxy: maxconn; the server: open files, and a limit per address of its own';
const NO_LIMIT =
  'see the logs of proxy and server for these connections; of several servers behind one address, one may not answer';
