/** The variants: the defaults, each relevant tuning inverted, no tuning, and flags of V8. */
import { entries, type TuningName } from '../../server/tunings.ts';
import type { Setting } from './measure.ts';

interface Variant extends Setting {
  name: string;
}

/** Without effect on our client, which does not request compression, and does not poll. */
const WITHOUT_EFFECT: TuningName[] = ['perMessageDeflate', 'httpCompression'];
const FLAGS = [
  '--max-semi-space-size=1',
  '--max-semi-space-size=64',
  '--optimize-for-size',
  '--single-threaded-gc',
  '--v8-pool-size=1',
];

export const DEFAULTS = 'defaults';

export const VARIANTS: Variant[] = [
  { name: DEFAULTS, environment: {}, flags: [] },
  ...entries()
    .filter(([name]) => !WITHOUT_EFFECT.includes(name))
    .map(([, { variable, byDefault }]) => {
      const value = onOff(!byDefault);
      return { name: `${variable}=${value}`, environment: { [variable]: value }, flags: [] };
    }),
  {
    name: 'untuned Socket.IO',
    environment: Object.fromEntries(entries().map(([, { variable, inSocketIo }]) => [variable, onOff(inSocketIo)])),
    flags: [],
  },
  ...FLAGS.map((flag) => ({ name: `node ${flag}`, environment: {}, flags: [flag] })),
];

function onOff(isOn: boolean): string {
  return isOn ? 'on' : 'off';
}
