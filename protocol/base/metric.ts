/**
 * Entry in a table of metrics. The engine, the plugin, the live view and the server each have such a table. Both the
 * metrics themselves and docs/reference are generated from the tables.
 */
export interface MetricDefinition {
  name: string;
  kind: 'counter' | 'rate' | 'gauge' | 'histogram' | 'summary';
  unit: string;
  /** Description in one line. Backticks are allowed, other Markdown is not. */
  help: string;
}
