/** Builds the axes of all charts. */
import { CHART_COLORS } from './palette.ts';

const LABEL = { color: CHART_COLORS.muted, fontSize: 12 };

/** @param name unit of the values, shown at the top of the axis */
export function valueAxis(name: string) {
  return {
    type: 'value',
    name,
    nameTextStyle: { ...LABEL, align: 'left', padding: [0, 0, 2, -44] },
    nameGap: 10,
    splitNumber: 4,
    axisLabel: { ...LABEL, formatter: shortNumber },
    // Keeps the axis on the left if the horizontal scale begins below zero.
    axisLine: { show: false, onZero: false },
    axisTick: { show: false },
    splitLine: { lineStyle: { color: CHART_COLORS.line } },
  };
}

/**
 * Returns a numeric horizontal axis.
 * @param name name of the axis, shown below its middle; may be empty
 */
export function bottomAxis(name: string, format: (value: number) => string) {
  return {
    type: 'value',
    name,
    nameLocation: 'middle',
    nameGap: 26,
    nameTextStyle: LABEL,
    axisLabel: { ...LABEL, hideOverlap: true, formatter: format },
    axisLine: { show: true, lineStyle: { color: CHART_COLORS.muted } },
    axisTick: { show: false },
    splitLine: { show: false },
  };
}

/** Formats seconds since the start of a run as `0:30`, `12:05` or `1:00:00`. */
export function clockText(seconds: number): string {
  const whole = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  const two = (value: number) => String(value).padStart(2, '0');
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`;
}

/**
 * Returns the times to label on a time axis of this many pixels. The steps are round times, such as 5 minutes instead
 * of 250 s.
 */
export function clockTicks(from: number, to: number, width: number): number[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];
  const least = ((to - from) * 60) / width;
  const step = steps.find((one) => one >= least) ?? Math.ceil(least / 3600) * 3600;
  const first = Math.ceil(from / step) * step;
  return Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, index) => first + index * step);
}

/** Formats a number for an axis, where space is short: 12,500 becomes `12.5k`. */
export function shortNumber(value: number): string {
  return Math.abs(value) >= 10_000
    ? `${(value / 1000).toLocaleString('en-US', { maximumFractionDigits: 1 })}k`
    : value.toLocaleString('en-US', { maximumFractionDigits: 2 });
}
