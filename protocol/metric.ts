/**
 * A metric as a catalogue has it: the code that emits metrics takes them from one of the tables (the engine's, the
 * plugin's, the live view's, the server's), and docs/reference is checked against the same tables.
 */
export interface Metric {
  name: string;
  kind: 'counter' | 'rate' | 'gauge' | 'histogram' | 'summary';
  unit: string;
  /** One line, without Markdown but for backticks. */
  help: string;
}
