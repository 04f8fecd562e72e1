/**
 * As many connections at once as the user allows: whether something in between, or the server, limits how many one address may
 * have or open. Only then some more, one by one: where these are let in, what was refused came too fast, and not one too many.
 * So it did where one is refused although all have left: who counts a whole minute still counts them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Socket } from 'socket.io-client';
import { decimals } from '../../../report/text/format.ts';
import { come } from '../../run/receivers/come.ts';
import { check, type Subject, type TargetCheck } from './target-check.ts';

const TRIES = 3;
const REST_MS = 1000;

export function checkBurst({ clients, signal }: Subject, connections: number): Promise<TargetCheck> {
  return check('burst', `${connections} connections at once`, async () => {
    const held: Socket[] = [];
    const failures: Error[] = [];
    let ended = 0;
    const open = async () => {
      try {
        const { socket } = await come(clients.nextPassing(), signal);
        held.push(socket);
        socket.once('disconnect', () => ended++);
        return true;
      } catch (error) {
        signal.throwIfAborted();
        failures.push(error as Error);
        return false;
      }
    };
    const leave = () => {
      for (const socket of held.splice(0)) socket.disconnect();
    };
    try {
      // What the other checks had open is not counted among these.
      await delay(REST_MS, undefined, { signal });
      const beganMs = performance.now();
      await Promise.all(Array.from({ length: connections }, open));
      // Whoever lets them wait for each other limits the rate, too, and refuses nobody.
      const seconds = decimals((performance.now() - beganMs) / 1000, 1);
      const refused = failures.length;
      const [why = ''] = failures.map(({ message }) => message);
      let later = 0;
      do {
        await delay(REST_MS, undefined, { signal });
      } while (refused > 0 && later < TRIES && (await open()) && ++later < TRIES);
      if (refused + ended === 0) return { status: 'ok', found: `all were let in within ${seconds} s, and stayed` };
      const found = `${connections - refused} of ${connections} were let in${ended > 0 ? `, and ${ended} of them ended` : ''}${refused > 0 ? ` (${why})` : ''}`;
      // Those that ended have made room for as many.
      if (later === TRIES && later > ended)
        return { status: 'failed', found: `${found}; later, one by one, all were: the rate is limited`, fix: RATE };
      leave();
      await delay(REST_MS, undefined, { signal });
      return refused > 0 && !(await open())
        ? { status: 'failed', found: `${found}; nor was one after all had left: the rate is limited`, fix: RATE }
        : { status: 'failed', found: `${found}: their number is limited`, fix: NUMBER };
    } finally {
      leave();
    }
  });
}

const RATE = 'raise it for this address, or lower the arrival rate; nginx: limit_req; HAProxy: rate-limit sessions';
const NUMBER =
  'raise it for this address; nginx: limit_conn, worker_connections; HAProxy: maxconn; the server: open files, and a limit per address of its own';
