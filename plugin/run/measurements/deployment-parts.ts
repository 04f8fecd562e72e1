/** Parts of the deployment, with identities by which a run notices a replacement. */

export interface DeploymentPart {
  /** Id of its layer: `worker`, one of the named layers, or `pm2`. */
  layer: string;
  /** Changes with a restart: process ids, or Redis's run id. */
  identity: string;
}

/** @param identities identities by name @returns parts of the layer by name */
export function partsOf(layer: string, identities: Record<string, string> = {}): Record<string, DeploymentPart> {
  return Object.fromEntries(Object.entries(identities).map(([name, identity]) => [name, { layer, identity }]));
}

export interface ChangedPart extends Pick<DeploymentPart, 'layer'> {
  name: string;
}
