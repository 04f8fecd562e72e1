/** Runs `artillery run` with engine and plugin against a new known server. */
import { type Result, resultSchema } from '../../protocol/result/result.ts';
import { startRun } from '../../test/helpers/run.ts';
import { ROOM, type ServerPlan, startKnownServer, TOKEN } from './calibration-setup.ts';
import type { KnownServerStarted, KnownServerTruth } from './known-server.ts';

interface ArtilleryRunSize {
  /** Opened in four equal ramps. */
  connections: number;
  broadcasts: number;
  broadcastSeconds: number;
  /** Idle time before the broadcasts. Its CPU use is subtracted from CPU per connect. */
  holdSeconds: number;
}

const RAMPS = 4;
const RAMP_SECONDS = 2;

export async function artilleryRun(
  size: ArtilleryRunSize,
  config: ServerPlan,
): Promise<{ result: Result; truth: KnownServerTruth }> {
  const server = await startKnownServer(config);
  const cleanUps: (() => unknown)[] = [];
  try {
    const script = scriptOf(server.started, size);
    const started = startRun({ after: (cleanUp) => void cleanUps.push(cleanUp) }, { script });
    const exitCode = await started.ended;
    const result = started.result();
    if (!result?.run.complete) throw new Error(`artillery run ended with ${exitCode}:\n${started.output()}`);
    return { result: resultSchema.parse(result), truth: await server.truth() };
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
    await server.close();
  }
}

function scriptOf(
  { url, controlUrl }: KnownServerStarted,
  { connections, broadcasts: count, broadcastSeconds: interval, holdSeconds: hold }: ArtilleryRunSize,
): object {
  const rate = connections / RAMPS / RAMP_SECONDS;
  const ramp = [{ duration: RAMP_SECONDS, arrivalRate: rate, rampTo: rate }, { pause: 2 }];
  return {
    config: {
      target: url,
      engines: { 'socketio-capacity': {} },
      plugins: {
        'socketio-capacity': {
          control: { urls: [controlUrl], token: TOKEN },
          singleRoundTrips: 5,
          hold,
          broadcasts: { count, interval },
          drain: { quiet: 0.5 },
        },
      },
      phases: Array.from({ length: RAMPS }, () => ramp).flat(),
    },
    scenarios: [{ engine: 'socketio-capacity', flow: [{ emit: ['join_room', { clientKey: ROOM }] }, { hold: true }] }],
  };
}
