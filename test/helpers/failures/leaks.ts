/** Servers that leak memory of closed connections. */
import { startKeepingServer } from '../plain-server.ts';
import { startRedis } from '../redis.ts';
import { type Failure, WAVES } from './failure.ts';

const LEAK: Pick<Failure, 'flow' | 'options' | 'phases' | 'passes'> = {
  flow: [{ connect: {} }, { think: 2.5 }],
  options: { overTime: {}, warmUp: 200, hold: undefined, broadcasts: undefined },
  phases: WAVES,
  passes: true,
};

export const leaks: Failure[] = [
  {
    ...LEAK,
    symptom: 'memory grows with every connection, and never falls',
    situation: 'the application adds a listener for each socket to an emitter, which it never removes',
    report: 'socketio/socket.io/issues/4028',
    serve: async (t) => {
      const { url, pid } = await startKeepingServer(t);
      return { target: url, options: { workers: { pids: [pid], inspect: true, profile: true } } };
    },
    // Four short waves cannot always tell a leak per connection from a leak per second. Longer runs test that.
    ...{ code: 'WORKERS_LEAK', about: 'application', message: /leaks? \S+ KB( per connection|\/s)/ },
    fix: /a listener on an emitter .*keeping-server\.mjs:17 \(8\.\d KB of each\)/,
  },
  {
    ...LEAK,
    symptom: 'Redis grows with every connection, and never falls',
    situation: 'the application writes a key of 4 KB for each connection, which it does not delete',
    report: 'socketio/socket.io/issues/663',
    serve: async (t) => {
      const redis = await startRedis(t);
      const { url, pid } = await startKeepingServer(t, redis.url);
      return { target: url, options: { workers: { pids: [pid] } }, environment: { REDIS_URL: redis.url } };
    },
    ...{ code: 'REDIS_LEAK', message: /^Redis keys grew from .* for each connection/ },
  },
];
