import type { DoctorMachine } from '../../plugin/doctor/check-machine.ts';
import type { DoctorDeployment } from '../../plugin/doctor/deployment.ts';
import type { DoctorLoad, DoctorSituation } from '../../plugin/doctor/situation.ts';

interface Changes {
  machine?: Partial<DoctorMachine>;
  load?: Partial<DoctorLoad>;
  deployment?: Partial<DoctorDeployment>;
}

/**
 * Returns a load of 32,000 connections at 500/s on a full stack that is not yet started, on a machine with 2 cores and
 * default limits.
 */
export function situation({ machine, load, deployment }: Changes = {}): DoctorSituation {
  return {
    machine: {
      openFiles: { soft: 20_000, hard: 20_000, ceiling: 2 ** 20 },
      systemFiles: { max: 2_400_000, used: 1000 },
      ephemeralPorts: { first: 32_768, last: 60_999 },
      timeWaitReuse: 'loopback',
      somaxconn: 4096,
      conntrack: null,
      memoryAvailableBytes: 24 * 2 ** 30,
      memoryLimitedBy: 'machine',
      tcpMemoryBytes: 2.2 * 2 ** 30,
      cores: 2,
      cpuQuota: null,
      artilleryWorkers: 1,
      manyLoopbackAddresses: true,
      missing: [],
      ...machine,
    },
    load: {
      target: 'http://127.0.0.1:8080',
      connections: 32_000,
      turnover: 1,
      ratePerSec: 500,
      leaves: false,
      alone: false,
      broadcasts: { bytes: 1000, intervalSeconds: 2 },
      client: 'light',
      compression: false,
      local: true,
      sockets: 1,
      socketsLeft: 0,
      localAddresses: [],
      ...load,
    },
    deployment: {
      kind: 'planned',
      profile: 'full',
      workers: null,
      plannedFor: null,
      missing: [],
      starts: { nginx: true, redis: 1, pm2: true },
      ping: { intervalMs: 25_000, timeoutMs: 20_000 },
      yieldsCpu: false,
      ...deployment,
    },
  };
}

const EXTERNAL: Partial<DoctorDeployment> = {
  kind: 'external',
  profile: null,
  starts: { nginx: false, redis: 0, pm2: false },
};

/** Returns the same load on a user's server on another machine. */
export function remote({ machine, load, deployment }: Changes = {}): DoctorSituation {
  return situation({
    machine,
    load: { target: 'https://staging.example.com', local: false, ...load },
    deployment: { ...EXTERNAL, ...deployment },
  });
}
