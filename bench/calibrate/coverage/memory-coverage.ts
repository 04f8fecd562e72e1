/** The estimator of memory per connection alone: readings that are drawn around a line, with noise of a known kind. */
import { fitPlateaus, type PlateauPoint } from '../../../report/statistics/plateaus.ts';
import { atMost, type Comparison, known, type Section } from '../comparison.ts';
import { type Covering, covers, normal } from './coverage.ts';

/** Noise of the readings, whose line has a slope of 0.01. */
interface PlateauNoise {
  /** Deviation of each reading. */
  reading: number;
  /** Deviation of what each plateau adds and all later ones keep. */
  staying: number;
}

const PLATEAU_NOISE = {
  independent: { reading: 0.5, staying: 0 },
  staying: { reading: 0.01, staying: 0.3 },
  mixed: { reading: 0.5, staying: 0.2 },
} satisfies Record<string, PlateauNoise>;

const PLATEAU_COUNTS = [5, 9, 17];
const SLOPE = 0.01;
const CONNECTIONS = 1000;
const READINGS = 3;

export async function memoryIntervals(repeats: number): Promise<Section> {
  return {
    title: 'Intervals of memory per connection',
    text:
      'How often a 95 % interval contains the true slope of readings drawn at random, three at each plateau. Noise is independent ' +
      '(garbage), stays (pages that a process has taken), or both. Intervals are too wide where no noise stays: five plateaus ' +
      'cannot show whether it does.',
    rows: ofPlateaus(repeats),
  };
}

/** @param repeats of each kind of noise and number of plateaus @param uniform of 0 to 1, without 0 */
export function ofPlateaus(repeats: number, uniform = () => 1 - Math.random()): Comparison[] {
  const slopes = (noise: PlateauNoise, plateaus: number, readings = READINGS) =>
    slopesOf({ repeats, noise, plateaus, readings }, uniform);
  const covering = Object.entries(PLATEAU_NOISE).flatMap(([kind, noise]) =>
    PLATEAU_COUNTS.map((plateaus) =>
      // Few plateaus cannot tell that nothing stays, so there the interval allows for it.
      covers(`${kind} noise, ${plateaus} plateaus`, SLOPE, slopes(noise, plateaus), {
        mayCoverMore: kind !== 'staying',
      }),
    ),
  );
  const width = (plateaus: number, readings?: number) => widthOf(slopes(PLATEAU_NOISE.independent, plateaus, readings));
  const [few, more, most, read] = [width(5), width(9), width(17), width(9, 4 * READINGS)];
  return [
    ...covering,
    atMost('half width with 9 plateaus: less than with 5', '%', few, more),
    atMost('half width with 17 plateaus: less than with 9', '%', more, most),
    atMost('half width with 12 readings at each of 9 plateaus: less than with 3', '%', more, read),
  ];
}

interface Plateaus {
  repeats: number;
  noise: PlateauNoise;
  plateaus: number;
  readings: number;
}

function slopesOf({ repeats, ...plan }: Plateaus, uniform: () => number): Covering[] {
  return Array.from({ length: repeats }, () => {
    const line = fitPlateaus(drawn(plan, uniform));
    return { low: known(line?.low95), high: known(line?.high95) };
  });
}

/** @returns half of the median interval, in percent of the slope */
function widthOf(intervals: Covering[]): number {
  const widths = intervals.map(({ low, high }) => (100 * (high - low)) / 2 / SLOPE).sort((a, b) => a - b);
  return widths[Math.floor(widths.length / 2)] as number;
}

function drawn({ noise, plateaus, readings }: Omit<Plateaus, 'repeats'>, uniform: () => number): PlateauPoint[] {
  let stayed = 0;
  return Array.from({ length: plateaus }, (_, index) => {
    const x = (CONNECTIONS * index) / (plateaus - 1);
    if (index > 0) stayed += noise.staying * normal(uniform);
    const all = Array.from({ length: readings }, () => SLOPE * x + stayed + noise.reading * normal(uniform));
    const y = all.reduce((sum, one) => sum + one, 0) / readings;
    const squares = all.reduce((sum, one) => sum + (one - y) ** 2, 0);
    return { x, y, variance: squares / (readings - 1) / readings };
  });
}
