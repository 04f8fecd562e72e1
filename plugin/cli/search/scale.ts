/** Scales a scenario to any level of a search: the possible levels, and the variables and overrides of each. */

import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { Varied } from '../../../protocol/documents/search-schema.ts';
import { LEAST_BROADCASTS, LEAST_WINDOW_SECONDS } from '../../../report/figures/least-window.ts';
import { sum } from '../../../report/statistics/statistics.ts';
import { arrivalsOf, exactRamp, type Phase } from '../../script/load/phases.ts';
import { PLUGIN } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { merged } from '../scenario-argument.ts';

interface Scale {
  /** Level of the scenario itself. */
  own: number;
  /** Returns the next possible level at or below this one, or the lowest one. */
  snap(level: number): number;
  /** Environment variables of a run, set to '' if they would change values of the overrides. */
  env: Record<string, string>;
  /** Returns Artillery's `--overrides` for a possible level. */
  overrides(level: number): { config: object };
}

/** Smallest ramp; with fewer arrivals, Artillery spaces them by 1 ms. */
const MIN_ARRIVALS = 2;

/** @throws CapacityError CONFIG_INVALID if the scenario lacks the value to vary */
export function scaleOf(settings: Settings, vary: Varied): Scale {
  const scale = SCALES[vary](settings);
  const window = windowOf(settings);
  return { ...scale, overrides: (level) => merged(window, scale.overrides(level)) as { config: object } };
}

/** Returns overrides that make broadcasts and messages last long enough to show whether the deployment keeps up. */
function windowOf({ broadcasts, delivery, hold, load }: Settings): object {
  const longer = (every: number, count: number, wrap: (count: object) => object) => {
    const least = Math.max(LEAST_BROADCASTS, Math.ceil(LEAST_WINDOW_SECONDS / every));
    return count < least ? wrap({ count: least }) : {};
  };
  const { publish } = delivery ?? {};
  const sends = publish ? publish.count > 0 : delivery || broadcasts.count > 0;
  return withOptions({
    ...(load.messages.length > 0 && { hold: Math.max(hold, LEAST_WINDOW_SECONDS) }),
    ...(!sends
      ? {}
      : publish
        ? longer(publish.every, publish.count, (count) => ({ delivery: { publish: count } }))
        : longer(broadcasts.interval, broadcasts.count, (count) => ({ broadcasts: count }))),
  });
}

const SCALES: Record<Varied, (settings: Settings) => Scale> = {
  connections: (settings) => {
    const { phases, load, otherEngines } = settings;
    if (otherEngines.length > 0) {
      const message = `Artillery chooses at random how many arrivals are connections, beside those of ${otherEngines.join(', ')}`;
      throw invalid(message, 'leave the other scenarios out, or use --vary rate');
    }
    if (!load.stays) {
      throw invalid(
        'its virtual users leave by themselves, so more arrivals are not more connections',
        'end the flow with `hold: true`, or use --vary rate',
      );
    }
    const shares = sharesOf(phases);
    const ofRun = clientsOfRun(settings);
    const divided = (level: number) => divide(Math.floor(level) - ofRun, shares);
    const scaled = (level: number) => phasesOf(phases, divided(level));
    return {
      own: load.connections,
      env: { RATE: '' },
      snap: (level) => sum(divided(level)) + ofRun,
      overrides: (level) => ({ config: { phases: scaled(level) } }),
    };
  },

  // A level is the rate of the fastest phase. Each phase lasts whole seconds, so only some rates are possible.
  rate: ({ phases }) => {
    const arriving = phases.map(arrivalsOf);
    const scaled = (level: number) => phasesOf(phases, arriving, level);
    const fastest = (ramps: Phase[]) => Math.max(...ramps.map((phase) => arrivalsOf(phase) / (phase.duration ?? 1)));
    return {
      own: fastest(phases),
      env: { RATE: '' },
      snap: (level) => fastest(scaled(level)),
      overrides: (level) => ({ config: { phases: scaled(level) } }),
    };
  },

  broadcastsPerSec: ({ broadcasts, delivery }) => {
    const publishing = delivery
      ? delivery.publish && { count: delivery.publish.count, interval: delivery.publish.every }
      : broadcasts;
    if (!publishing || publishing.count === 0) {
      throw invalid('the run sends no broadcasts', 'give the scenario `broadcasts.count`, or `delivery.publish`');
    }
    const seconds = Math.max(publishing.count * publishing.interval, LEAST_WINDOW_SECONDS);
    return {
      own: 1 / publishing.interval,
      env: { BROADCASTS: '' },
      snap: (level) => Math.max(0.001, Math.round(level * 1000) / 1000),
      overrides: (level) => {
        // The broadcasts last as long as in the scenario, with at least as many of them, because percentiles need a number of values.
        const count = Math.max(publishing.count, LEAST_BROADCASTS, Math.round(seconds * level));
        return delivery
          ? withOptions({ delivery: { publish: { every: 1 / level, count } } })
          : withOptions({ broadcasts: { interval: 1 / level, count } });
      },
    };
  },

  bytes: ({ broadcasts, delivery }) => {
    if (delivery || broadcasts.count === 0) {
      throw invalid(
        'the run chooses no payload: only broadcasts of the wire contract have `broadcasts.bytes`',
        'vary connections, rate or broadcastsPerSec',
      );
    }
    return {
      own: broadcasts.bytes,
      env: {},
      snap: (level) => Math.max(1, Math.floor(level)),
      overrides: (level) => withOptions({ broadcasts: { bytes: level } }),
    };
  },
};

/**
 * Returns the number of the run's own connections to the server, which also use its capacity. A stack started by the run
 * has room for them.
 */
function clientsOfRun({ control, delivery }: Settings): number {
  const receivers = control ? (delivery ? 1 : 2) : 0;
  return receivers + (delivery?.publish?.users ?? 0);
}

function withOptions(options: object): { config: object } {
  return { config: { plugins: { [PLUGIN]: options } } };
}

/** Returns, for each phase, the share of the arrivals up to its end. */
function sharesOf(phases: Phase[]): number[] {
  const arriving = phases.map(arrivalsOf);
  const all = sum(arriving);
  return arriving.map((_, index) => sum(arriving.slice(0, index + 1)) / all);
}

/** Returns the arrivals of each phase, in the scenario's proportions. Their sum is `total`, unless that is too low. */
function divide(total: number, shares: number[]): number[] {
  let before = 0;
  return shares.map((share, index) => {
    if (share === (shares[index - 1] ?? 0)) return 0;
    const arrivals = Math.max(MIN_ARRIVALS, Math.round(total * share) - before);
    before += arrivals;
    return arrivals;
  });
}

/** Returns the phases at the given rate, or each at its own. Omits names, which may contain the scenario's numbers, and `maxVusers`. */
function phasesOf(phases: Phase[], arriving: number[], ratePerSec?: number): Phase[] {
  return phases.map((phase, index) => {
    const arrivals = arriving[index] ?? 0;
    if (arrivals === 0) return phase.pause === undefined ? { pause: phase.duration ?? 0 } : { pause: phase.pause };
    return exactRamp(arrivals, ratePerSec ?? arrivalsOf(phase) / (phase.duration ?? 1));
  });
}

function invalid(message: string, fix: string): CapacityError {
  return new CapacityError('CONFIG_INVALID', `--vary: this cannot vary in this scenario: ${message}`, fix);
}
