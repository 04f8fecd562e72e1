/**
 * Coverage of the intervals of memory per connection. Tests the estimator on readings around a line with known random
 * noise, without a server.
 */
import { fitPlateaus, type PlateauPoint } from '../../../report/statistics/plateaus.ts';
import { type CalibrationSection, compareAtMost, type TruthComparison, valueOrInfinity } from '../comparison.ts';
import { compareCoverage, type IntervalEnds, randomNormal } from './coverage.ts';

/** Noise of the readings. The slope of their line is 0.01. */
interface PlateauNoise {
  /** Standard deviation of the noise of a single reading. */
  reading: number;
  /** Standard deviation of an offset that each plateau adds to its own readings and all later readings. */
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

export async function memoryIntervalCoverage(repeats: number): Promise<CalibrationSection> {
  return {
    title: 'Intervals of memory per connection',
    text:
      'How often a 95 % interval contains the true slope of random readings, three at each plateau, with independent noise (garbage), ' +
      'noise that stays (pages), or both. Five plateaus cannot show whether noise stays.',
    rows: plateauRows(repeats),
  };
}

/**
 * @param repeats number of repeats for each kind of noise and number of plateaus
 * @param uniform random numbers from 0 (excluded) to 1
 */
export function plateauRows(repeats: number, uniform = () => 1 - Math.random()): TruthComparison[] {
  const slopes = (noise: PlateauNoise, plateaus: number, readings = READINGS) =>
    slopesOf({ repeats, noise, plateaus, readings }, uniform);
  const covering = Object.entries(PLATEAU_NOISE).flatMap(([kind, noise]) =>
    PLATEAU_COUNTS.map((plateaus) =>
      // A few plateaus cannot exclude persistent noise. The interval therefore includes it and can be too wide.
      compareCoverage(`${kind} noise, ${plateaus} plateaus`, SLOPE, slopes(noise, plateaus), {
        mayCoverMore: kind !== 'staying',
      }),
    ),
  );
  const width = (plateaus: number, readings?: number) => widthOf(slopes(PLATEAU_NOISE.independent, plateaus, readings));
  const [few, more, most, read] = [width(5), width(9), width(17), width(9, 4 * READINGS)];
  return [
    ...covering,
    compareAtMost('half width with 9 plateaus: less than with 5', '%', few, more),
    compareAtMost('half width with 17 plateaus: less than with 9', '%', more, most),
    compareAtMost('half width with 12 readings at each of 9 plateaus: less than with 3', '%', more, read),
  ];
}

interface Plateaus {
  repeats: number;
  noise: PlateauNoise;
  plateaus: number;
  readings: number;
}

function slopesOf({ repeats, ...plan }: Plateaus, uniform: () => number): IntervalEnds[] {
  return Array.from({ length: repeats }, () => {
    const line = fitPlateaus(randomPoints(plan, uniform));
    return { low: valueOrInfinity(line?.low95), high: valueOrInfinity(line?.high95) };
  });
}

/** Returns the half-width of the median interval, in percent of the slope. */
function widthOf(intervals: IntervalEnds[]): number {
  const widths = intervals.map(({ low, high }) => (100 * (high - low)) / 2 / SLOPE).sort((a, b) => a - b);
  return widths[Math.floor(widths.length / 2)] as number;
}

function randomPoints({ noise, plateaus, readings }: Omit<Plateaus, 'repeats'>, uniform: () => number): PlateauPoint[] {
  let offset = 0;
  return Array.from({ length: plateaus }, (_, index) => {
    const x = (CONNECTIONS * index) / (plateaus - 1);
    if (index > 0) offset += noise.staying * randomNormal(uniform);
    const all = Array.from({ length: readings }, () => SLOPE * x + offset + noise.reading * randomNormal(uniform));
    const y = all.reduce((sum, reading) => sum + reading, 0) / readings;
    const squares = all.reduce((sum, reading) => sum + (reading - y) ** 2, 0);
    return { x, y, variance: squares / (readings - 1) / readings };
  });
}
