/** Types of the library `parse-prometheus-text-format`, for samples of gauges and counters. */
declare module 'parse-prometheus-text-format' {
  interface Sample {
    value?: string;
    labels?: Record<string, string>;
    timestamp_ms?: string;
  }
  export default function parse(text: string): { name: string; metrics: Sample[] }[];
}
