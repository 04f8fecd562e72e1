/**
 * A metric in a table of metrics (the engine's, the plugin's, the live view's, the server's). Metrics are emitted from
 * these tables, and docs/reference is made from them.
 */
export interface Metric {
  name: string;
  kind: 'counter' | 'rate' | 'gauge' | 'histogram' | 'summary';
  unit: string;
  /** One line, without Markdown except backticks. */
  help: string;
}
