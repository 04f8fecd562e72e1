/** Limits that look like capacity: where connections stop at a number that somebody once configured. */

import type { Check } from './check.ts';

/** Below this share of the target, failures are noise. */
const MIN_SHARE = 0.01;
/** When this share of all failures has one cause. */
const ONE_CAUSE = 0.9;
/** Two processes may well stop at about the same number by chance. */
const MIN_PROCESSES = 3;
const MIN_CONNECTIONS = 100;
/** Processes that take connections in turn and lose single ones by chance are further apart. */
const SAME = { connections: 1, share: 0.001 };

const LIMITS = new Map<string, { limit: string; fix: string }>(
  Object.entries({
    EMFILE: { limit: "the generator's open files per process", fix: 'raise it: ulimit -n 65536' },
    ENFILE: { limit: 'the open files of the whole machine', fix: 'raise it: sysctl fs.file-max' },
    EADDRNOTAVAIL: {
      limit: "the generator's ports towards the target",
      fix: 'add source addresses with localAddresses, or widen net.ipv4.ip_local_port_range',
    },
    http_500: {
      limit: "the proxy's connections (`worker_connections`) or open files",
      fix: 'raise worker_connections and worker_rlimit_nofile; see its error log',
    },
    http_502: {
      limit: "the proxy's ports towards a worker, or the worker's open files or listen queue",
      fix: "see the proxy's error log; connect from several addresses (proxy_bind), or raise the worker's limits",
    },
    http_503: {
      limit: 'the connection limit of the proxy or of the server',
      fix: "see the proxy's error log for `limit_conn` or for upstreams marked as unavailable",
    },
  }),
);

export const limits: Check[] = [
  {
    code: 'LIMIT_REACHED',
    find({ connections: { target, failed, failures } }) {
      const [cause, count] = Object.entries(failures).toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0];
      const known = LIMITS.get(cause);
      if (!known || failed < target * MIN_SHARE || count < failed * ONE_CAUSE) return undefined;
      return {
        message: `${count} of ${failed} failed connections have the cause ${cause}: they hit ${known.limit}, not the server's capacity`,
        fix: known.fix,
      };
    },
  },
  {
    code: 'LIMIT_REACHED',
    find({ connections: { target, peak } }, { snapshots, overTime }) {
      // Those that come and go are never all there.
      if (overTime) return undefined;
      const held = snapshots.flatMap(({ processes }) => processes.map(({ connections }) => connections));
      const [least, most] = [Math.min(...held), Math.max(...held)];
      const same = most - least <= Math.max(SAME.connections, most * SAME.share);
      const areMissing = target - peak >= target * MIN_SHARE;
      if (!areMissing || held.length < MIN_PROCESSES || least < MIN_CONNECTIONS || !same) return undefined;
      return {
        message: `each of ${held.length} fleet processes stopped at ${most} connections: this is a limit of the generator, not the server's capacity`,
        fix: 'find the limits of this machine: `npx socketio-capacity doctor <scenario>`',
      };
    },
  },
];
