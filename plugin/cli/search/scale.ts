/** Scales a scenario to a level of a search, such as a number of connections. */

import { CapacityError } from '../../../protocol/codes/errors.ts';
import type { SearchedQuantity } from '../../../protocol/documents/search-schema.ts';
import { LEAST_BROADCASTS, LEAST_WINDOW_SECONDS } from '../../../report/figures/least-window.ts';
import { sum } from '../../../report/statistics/statistics.ts';
import { arrivalsOf, exactRamp, type Phase } from '../../script/load/phases.ts';
import { PLUGIN_NAME } from '../../script/script.ts';
import type { Settings } from '../../script/settings.ts';
import { mergeLikeArtillery } from '../scenario-argument.ts';

interface Scale {
  /** Level of the search that the unchanged scenario has, such as its number of connections. */
  own: number;
  /**
   * Returns the highest possible level of the search that is not above the given level. Returns the lowest possible
   * level if all are above it.
   */
  snap(level: number): number;
  /** Environment variables for a run of the search. Variables that would override the level are set to ''. */
  env: Record<string, string>;
  /** Returns the value of Artillery's `--overrides` for a level. */
  overrides(level: number): { config: object };
}

/** Smallest number of arrivals in a ramp. Artillery spaces the arrivals of a smaller ramp by 1 ms. */
const MIN_ARRIVALS = 2;

/**
 * Returns functions that scale a scenario.
 * @throws CapacityError CONFIG_INVALID if the scenario does not contain the value to vary
 */
export function scenarioScale(settings: Settings, vary: SearchedQuantity): Scale {
  const scale = SCALES[vary](settings);
  const window = windowOf(settings);
  return { ...scale, overrides: (level) => mergeLikeArtillery(window, scale.overrides(level)) as { config: object } };
}

/**
 * Returns overrides of the scenario that make broadcasts and messages last long enough to show whether the deployment
 * keeps up.
 */
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

const SCALES: Record<SearchedQuantity, (settings: Settings) => Scale> = {
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

  // The level of the search is the rate of the fastest phase. Phases last whole seconds, so only certain rates are
  // possible.
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
        // The broadcasts take as long as in the scenario. There are at least as many as in the scenario, because
        // percentiles need enough values.
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
 * Returns the number of connections that the run opens for its own receivers and publishers. They use the server's
 * capacity, too.
 */
function clientsOfRun({ control, delivery }: Settings): number {
  const receivers = control ? (delivery ? 1 : 2) : 0;
  return receivers + (delivery?.publish?.users ?? 0);
}

function withOptions(options: object): { config: object } {
  return { config: { plugins: { [PLUGIN_NAME]: options } } };
}

/** Returns for each phase the share of all arrivals up to the end of the phase. */
function sharesOf(phases: Phase[]): number[] {
  const arriving = phases.map(arrivalsOf);
  const all = sum(arriving);
  return arriving.map((_, index) => sum(arriving.slice(0, index + 1)) / all);
}

/**
 * Divides arrivals among the phases, in the scenario's proportions. The sum is `total`, or more if a phase would get
 * too few arrivals for a ramp.
 */
function divide(total: number, shares: number[]): number[] {
  let before = 0;
  return shares.map((share, index) => {
    if (share === (shares[index - 1] ?? 0)) return 0;
    const arrivals = Math.max(MIN_ARRIVALS, Math.round(total * share) - before);
    before += arrivals;
    return arrivals;
  });
}

/**
 * Returns the phases at the given rate; if it is undefined, each phase keeps its rate. Leaves out `maxVusers`, and the
 * names of phases, which may mention the scenario's numbers.
 */
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
