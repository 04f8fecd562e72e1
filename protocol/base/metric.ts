/**
 * An entry in a table of metrics of the engine, plugin, live view or server. These tables are the source of both the emitted metrics and
 * docs/reference.
 */
export interface Metric {
  name: string;
  kind: 'counter' | 'rate' | 'gauge' | 'histogram' | 'summary';
  unit: string;
  /** A line of text, without Markdown except backticks. */
  help: string;
}
