/** What each layer of the result is called where people read it. The order is the order of tables. */
export const TITLES: Record<string, string> = {
  workerRss: 'Workers RSS',
  workerPss: 'Workers PSS',
  workerHeapUsed: 'Workers V8 heap',
  workerExternal: 'Workers external',
  nginxRss: 'nginx RSS',
  nginxPss: 'nginx PSS',
  redisUsedMemory: 'Redis used_memory',
  redisRss: 'Redis RSS',
  redisPss: 'Redis PSS',
  redisClientBuffers: 'Redis subscribers',
  pm2Rss: 'PM2 daemon RSS',
  pm2Pss: 'PM2 daemon PSS',
  kernelTcp: 'Kernel TCP buffers',
  kernelSlab: 'Kernel socket slabs',
  kernelPageTables: 'Kernel page tables',
  fleetRss: 'Generator fleet RSS',
  fleetPss: 'Generator fleet PSS',
  artilleryRss: 'Artillery RSS',
  artilleryPss: 'Artillery PSS',
  systemUsed: 'Whole machine',
  systemHeld: 'Whole machine, held',
  // CPU
  worker: 'Workers',
  nginx: 'nginx',
  redis: 'Redis',
  pm2: 'PM2 daemon',
  fleet: 'Generator fleet',
  artillery: 'Artillery',
  system: 'Whole machine',
};
const ORDER = Object.keys(TITLES);

export function layerTitle(layer: string): string {
  return TITLES[layer] ?? layer;
}

/** Known layers in the order of the tables, then the others. */
export function inOrder(layers: string[]): string[] {
  const rank = (layer: string) => (ORDER.indexOf(layer) + ORDER.length + 1) % (ORDER.length + 1);
  return layers.toSorted((a, b) => rank(a) - rank(b));
}

/** What a connection costs the workers: PSS where there is PSS, since RSS counts shared pages once per worker. */
export function mainWorkerLayer(bytesByLayer: Record<string, unknown>): 'workerPss' | 'workerRss' {
  return 'workerPss' in bytesByLayer ? 'workerPss' : 'workerRss';
}
