/** A row of the time series, and how neighbouring rows are merged. */

/**
 * Figures of a layer in a row. Processes have `rssBytes`; `pssBytes` or, in most rows, the estimate `derivedPssBytes`
 * (see `PSS_SHARE`); and, from the second row on, `cpuPercent` since the previous row, where 100 is one core. The whole
 * machine has `usedBytes`, and `cpuPercent` of all its cores. Rows for which all programs were read also have `others`
 * and `steal`: `cpuPercent` of other programs and of the hypervisor, where 100 is one core.
 */
export type LayerSample = Record<string, number>;

/** A row of the time series. `t` is the time in seconds since the start. Layers that could not be read are missing. */
export type SampleRow = { t: number; connections: number } & { [layer: string]: LayerSample | undefined };

/**
 * Merges two rows: keeps the later time, the higher number of connections, the higher memory so that no peak is lost,
 * and the mean CPU use.
 */
export function mergeRows(older: SampleRow, newer: SampleRow): SampleRow {
  const row: Record<string, number | LayerSample | undefined> = { ...older, ...newer };
  row.connections = Math.max(older.connections, newer.connections);
  for (const layer of Object.keys(row)) {
    if (layer === 't' || layer === 'connections') continue;
    const [before, after] = [older[layer], newer[layer]];
    if (before && after) row[layer] = mergeSamples(before, after);
  }
  return row as SampleRow;
}

function mergeSamples(older: LayerSample, newer: LayerSample): LayerSample {
  const { cpuPercent: before, ...memoryBefore } = older;
  const { cpuPercent: after, ...memory } = newer;
  const merged: LayerSample = { ...memoryBefore, ...memory };
  for (const [key, bytes] of Object.entries(memoryBefore)) merged[key] = Math.max(bytes, merged[key] ?? bytes);
  const cpuPercent = before === undefined || after === undefined ? (before ?? after) : (before + after) / 2;
  if (cpuPercent !== undefined) merged.cpuPercent = cpuPercent;
  const { pssBytes, derivedPssBytes } = merged;
  // A row has only one of the two PSS figures; the higher figure is kept.
  if (pssBytes !== undefined && derivedPssBytes !== undefined) {
    delete merged[pssBytes >= derivedPssBytes ? 'derivedPssBytes' : 'pssBytes'];
  }
  return merged;
}
