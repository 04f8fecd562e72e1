/** A row of the time series, and two neighbouring ones as one. */

/**
 * For processes: `rssBytes`, `pssBytes` or, in most rows, `derivedPssBytes` (see `PSS_SHARE`), and, except in the first row,
 * `cpuPercent` since the previous row; 100 is one core. For the whole machine: `usedBytes`, and `cpuPercent` of all its
 * cores. `others` and `steal`, in the rows at which all programs were read, have the `cpuPercent` of other programs and of the
 * hypervisor since the reading before; 100 is one core.
 */
export type LayerSample = Record<string, number>;

/** `t` is in seconds since the start. Layers that could not be read are missing. */
export type SampleRow = { t: number; connections: number } & { [layer: string]: LayerSample | undefined };

/**
 * The later time, the most connections and the highest memory, so that no peak is lost however old it is; CPU, which is since
 * the row before, is the mean.
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
  // A row has one of them; a PSS that was read does not hide a higher one in between.
  if (pssBytes !== undefined && derivedPssBytes !== undefined) {
    delete merged[pssBytes >= derivedPssBytes ? 'derivedPssBytes' : 'pssBytes'];
  }
  return merged;
}
