/** The part of the library that is used: one entry for each sample of a gauge or counter. */
declare module 'parse-prometheus-text-format' {
  interface Sample {
    value?: string;
    labels?: Record<string, string>;
    timestamp_ms?: string;
  }
  export default function parse(text: string): { name: string; metrics: Sample[] }[];
}
