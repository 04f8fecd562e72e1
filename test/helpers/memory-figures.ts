/** Invented memory of a run with 5,000 connections, for `results.ts`. */
import { LAYERS } from '../../plugin/samplers/layers/index.ts';
import { describeLayers } from '../../plugin/samplers/layers/layer.ts';

export const MB = 1024 * 1024;

/** Returns the memory at `connections`: a straight line with some noise. */
function plateau(connections: number, noiseBytes: number) {
  return {
    connections,
    workerRss: 130 * MB + connections * 16_000 + noiseBytes,
    workerPss: 110 * MB + connections * 15_000 + noiseBytes,
    workerHeapUsed: 20 * MB + connections * 9_000,
    nginxPss: 9 * MB + connections * 2_000,
    redisUsedMemory: 1.5 * MB,
    systemUsed: 900 * MB + connections * 30_000 - noiseBytes,
  };
}

const PLATEAUS = [
  plateau(0, 0),
  plateau(1250, 300_000),
  plateau(2500, -200_000),
  plateau(3750, 100_000),
  plateau(5000, 0),
];

/** Garbage before the collection, in bytes. */
const GARBAGE_BYTES = 3 * MB;

function line(bytes: number) {
  return { slope: bytes, low95: bytes * 0.98, high95: bytes * 1.02, r2: 0.99964 };
}

function slope(bytes: number) {
  return { ...line(bytes), naive: bytes * 1.2 };
}

export function perfectMemory() {
  return {
    layers: describeLayers(LAYERS),
    collected: true,
    perConnection: null,
    balance: null,
    leaks: 0,
    overTime: null,
    sources: {},
    perConnectionBytes: {
      systemUsed: slope(30_000),
      workerPss: slope(15_000),
      workerRss: slope(16_000),
      workerHeapUsed: slope(9_000),
      nginxPss: slope(2_000),
      redisUsedMemory: { slope: 0, low95: 0, high95: 0, r2: 1, naive: 0 },
    },
    inService: {
      perConnectionBytes: {
        systemUsed: line(30_000),
        workerPss: line(18_140),
        workerRss: line(19_140),
        nginxPss: line(2_000),
      },
      peakBytes: { workerRss: 221.3 * MB, workerPss: 196.5 * MB },
      plateaus: PLATEAUS.map(({ connections, workerRss, workerPss, systemUsed }) => ({
        connections,
        workerRss: workerRss + GARBAGE_BYTES,
        workerPss: workerPss + GARBAGE_BYTES,
        systemUsed: systemUsed + GARBAGE_BYTES,
      })),
    },
    peakBytes: { workerRss: 215 * MB, workerPss: 190 * MB, nginxPss: 19 * MB },
    residualBytes: { workerRss: 12 * MB, workerPss: 11.5 * MB, nginxPss: 0.4 * MB, redisUsedMemory: -1000 },
    plateaus: PLATEAUS,
    absent: {
      kernelSlab: '/proc/slabinfo is readable only by root',
      pm2Pss: 'none of its processes is known on this machine',
      pm2Rss: 'none of its processes is known on this machine',
    },
  };
}
