/** The studies of the site: the title of each page, the figure of its picture, and the columns of its table. */
import { FIGURES, type Figure } from '../../report/figures/figures.ts';

export interface StudyPage {
  title: string;
  /** The setting that the first sentence is about. */
  about: string;
  /** Path of the figure of the picture. */
  picture: string;
  /** Paths of the other columns. */
  columns: string[];
}

type Shown = Pick<Figure, 'path' | 'title' | 'quantity'>;

/** Figures that a table shows, and that no comparison needs. */
const FURTHER: Shown[] = [
  { path: 'connections.connectMs.p50', title: 'Connect time p50', quantity: 'milliseconds' },
  { path: 'latency.localMs.p50', title: 'One way p50, own worker', quantity: 'milliseconds' },
  { path: 'latency.crossWorkerMs.p50', title: 'One way p50, other workers', quantity: 'milliseconds' },
  { path: 'redis.channels', title: 'Channels', quantity: 'count' },
  { path: 'redis.shardChannels', title: 'Sharded channels', quantity: 'count' },
  { path: 'redis.streamEntries', title: 'Stream entries', quantity: 'count' },
  { path: 'redis.busiestNodeShare', title: 'Busiest node’s share', quantity: 'share' },
  { path: 'memory.perConnectionBytes.workerExternal.slope', title: 'External per connection', quantity: 'kilobytes' },
  { path: 'cpu.worker.idleConnectionsPercent', title: 'Workers CPU of idle connections', quantity: 'percent' },
  { path: 'cpu.nginx.idleConnectionsPercent', title: 'nginx CPU of idle connections', quantity: 'percent' },
  { path: 'capacity.pings.connections', title: 'Idle connections that take all cores', quantity: 'count' },
  { path: 'fault.dropped', title: 'Connections dropped', quantity: 'count' },
  { path: 'fault.recovered', title: 'Sessions restored', quantity: 'count' },
  { path: 'fault.broadcasts.due', title: 'Copies due', quantity: 'count' },
  { path: 'fault.peakCpuPercent.worker', title: 'Workers’ peak CPU', quantity: 'percent' },
];

const WORKER_PSS = 'memory.perConnectionBytes.workerPss.slope';
const NGINX_PSS = 'memory.perConnectionBytes.nginxPss.slope';
const HEAP = 'memory.perConnectionBytes.workerHeapUsed.slope';
const CONNECT_CPU = 'cpu.worker.rampSecondsPerThousandConnects';
const COPY_CPU = 'cpu.worker.broadcastMicrosecondsPerMessage';
const ONE_WAY = 'latency.oneWayMs.p50';
const COMPLETION = 'latency.completionMs.p50';
const ADAPTER = [
  ...['redis.inBytesPerCopy', 'redis.cpuMicrosecondsPerCopy', 'redis.usedMemoryBytes', COPY_CPU],
  ...['redis.channels', 'redis.shardChannels', 'redis.streamEntries', 'redis.busiestNodeShare'],
  ...['latency.localMs.p50', 'latency.crossWorkerMs.p50'],
];
const TRANSPORT = [
  ...['cpu.nginx.rampSecondsPerThousandConnects', COPY_CPU, 'cpu.nginx.broadcastMicrosecondsPerMessage'],
  ...[WORKER_PSS, NGINX_PSS, 'connections.connectMs.p50', ONE_WAY, COMPLETION],
];
const SERVER = [HEAP, 'memory.perConnectionBytes.workerExternal.slope', CONNECT_CPU, COPY_CPU, ONE_WAY, COMPLETION];
const SENT = 'redis.outBytesPerCopy';

/** By the study's name, in the order of the overview. */
export const STUDY_PAGES: Record<string, StudyPage> = {
  transports: { about: 'TRANSPORTS', title: 'Transports and TLS', picture: CONNECT_CPU, columns: TRANSPORT },
  compression: {
    about: 'COMPRESSION',
    title: 'Compression',
    picture: WORKER_PSS,
    columns: [CONNECT_CPU, ...TRANSPORT],
  },
  websockets: { about: 'CAPACITY_WEBSOCKETS', title: 'WebSocket servers', picture: WORKER_PSS, columns: SERVER },
  'websockets-compression': {
    about: 'COMPRESSION',
    title: 'WebSocket servers with compression',
    picture: WORKER_PSS,
    columns: SERVER,
  },
  adapters: { about: 'CAPACITY_ADAPTER', title: 'Redis adapters', picture: SENT, columns: ADAPTER },
  'adapter-workers': { about: 'workers', title: 'Redis adapters and workers', picture: SENT, columns: ADAPTER },
  payloads: { about: 'broadcasts.binary', title: 'Large and binary payloads', picture: SENT, columns: ADAPTER },
  'redis-cluster': { about: 'REDIS_NODES', title: 'Redis Cluster', picture: SENT, columns: ADAPTER },
  'ping-interval': {
    title: 'Ping intervals',
    about: 'CAPACITY_PING_INTERVAL_MS',
    picture: 'capacity.pings.connections',
    columns: ['cpu.worker.idleConnectionsPercent', 'cpu.nginx.idleConnectionsPercent', HEAP, WORKER_PSS, NGINX_PSS],
  },
  storms: {
    title: 'Storms',
    about: 'fault.kind',
    picture: 'fault.broadcasts.missed',
    columns: [
      ...['fault.dropped', 'fault.backMs.p50', 'fault.backMs.p99', 'fault.backMs.all', 'fault.recovered'],
      ...['fault.broadcasts.due', 'fault.peakAttemptsPerSec', 'fault.peakCpuPercent.worker'],
    ],
  },
};

/** @throws for a path that is in no list: a typing error */
export function shownFigure(path: string): Shown {
  const found = [...FURTHER, ...FIGURES].find((one) => one.path === path);
  if (!found) throw new Error(`no figure ${path}`);
  return found;
}
