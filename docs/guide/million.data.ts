/** What 1,000,000 and 10,000,000 connections need, from the largest VALID report. */

import { dataTable } from '../../report/render/blocks.ts';
import { decimals, integer } from '../../report/text/format.ts';
import { largestValid, type Report, readReportsBySize } from '../reports/reports.ts';

const CONNECTIONS = [1_000_000, 10_000_000];

/** Below the 55,296 ports of one address, with the range that the chart sets. */
const PER_HOST = 50_000;
const CONNECTS_PER_HOST_AND_SECOND = 250;
/** A client of nginx has four sockets: its own, two of nginx, and the worker's. Measured is the sum. */
const SOCKETS_PER_CONNECTION = 4;
const PORTS = { default: 28_232, chart: 55_296 };

const GIB = 1024 ** 3;

/** List prices without discounts and taxes, of machines and tasks with 2 vCPUs and 4 GB. */
const HOST_PRICES = [
  {
    what: 'AWS Fargate, Linux on x86, us-east-1: 2 × $0.04048 + 4 × $0.004445',
    usdPerHour: 2 * 0.04048 + 4 * 0.004445,
    source: 'factualminds.com, “Amazon Fargate & ECS Task Pricing”, 17 June 2026',
  },
  {
    what: 'Azure F2s_v2, Linux, East US',
    usdPerHour: 0.085,
    source: 'c3x.dev, “Azure VM types compared”, prices of June 2026',
  },
  {
    what: 'Google c2d-highcpu-2, Linux, us-central1',
    usdPerHour: 0.074962,
    source: 'Cyclenerd’s google-cloud-pricing-cost-calculator, from Google’s billing API on 30 July 2026',
  },
];

/** Of AWS's application load balancer, in us-east-1. */
const BALANCER = { usdPerHour: 0.0225, usdPerUnitHour: 0.008, activePerUnit: 3000, newPerUnitAndSecond: 25 };

export interface Million {
  report: { title: string; link: string } | null;
  /** HTML. */
  generators: string;
  deployment: string;
  costs: string;
}

export declare const data: Million;

export default { watch: ['../reports/*/result.json'], load: (): Million => million(readReportsBySize()) };

/** @param reports the smallest first */
export function million(reports: Report[]): Million {
  const found = largestValid(reports, (result) => needsOf(result) !== null);
  const needs = found && needsOf(found.result);
  if (!needs) return { report: null, generators: '', deployment: '', costs: '' };
  return {
    report: { title: found.title, link: `/reports/${found.size}` },
    generators: table('Generators', generatorRows(needs)),
    deployment: table('Deployment', deploymentRows(needs)),
    costs: dataTable(
      'Costs per hour',
      ['', ...CONNECTIONS.map(integer), 'Source'],
      costRows().map(([name, values, source]) => [name, ...values, source]),
    ).markup,
  };
}

type Rows = [name: string, value: (connections: number) => string][];

function table(caption: string, rows: Rows): string {
  const body = rows.map(([name, value]) => [name, ...CONNECTIONS.map(value)]);
  return dataTable(caption, ['', ...CONNECTIONS.map(integer)], body).markup;
}

/** Bytes and CPU of one connection. */
interface Needs {
  fleetBytes: number;
  socketBytes: number;
  workerBytes: number;
  nginxBytes: number;
  generatorSecondsPerConnect: number;
  deploymentSecondsPerConnect: number;
  fleetMicrosecondsPerCopy: number;
  deploymentMicrosecondsPerCopy: number;
}

/** @returns null if the report lacks any of it */
function needsOf({ memory, cpu }: Report['result']): Needs | null {
  const atRest = (layer: string) => memory.perConnectionBytes[layer]?.slope ?? null;
  const { fleet, artillery, worker, nginx } = cpu;
  const perConnect = (layer: typeof fleet) => (layer?.rampSecondsPerThousandConnects ?? Number.NaN) / 1000;
  const perCopy = (layer: typeof fleet) => layer?.broadcastMicrosecondsPerMessage ?? Number.NaN;
  const needs = {
    fleetBytes: atRest('fleetPss') ?? Number.NaN,
    socketBytes: (atRest('kernelSlab') ?? Number.NaN) / SOCKETS_PER_CONNECTION,
    workerBytes: memory.inService?.perConnectionBytes.workerPss?.slope ?? Number.NaN,
    nginxBytes: atRest('nginxPss') ?? Number.NaN,
    generatorSecondsPerConnect: perConnect(fleet) + perConnect(artillery),
    deploymentSecondsPerConnect: perConnect(worker) + perConnect(nginx),
    fleetMicrosecondsPerCopy: perCopy(fleet),
    deploymentMicrosecondsPerCopy: perCopy(worker) + perCopy(nginx),
  };
  return Object.values(needs).every(Number.isFinite) ? needs : null;
}

const hostsOf = (connections: number) => connections / PER_HOST;
const connectsPerSecond = (connections: number) => hostsOf(connections) * CONNECTS_PER_HOST_AND_SECOND;

function generatorRows(needs: Needs): Rows {
  const bytes = PER_HOST * (needs.fleetBytes + needs.socketBytes);
  const cores = CONNECTS_PER_HOST_AND_SECOND * needs.generatorSecondsPerConnect;
  const perCopy = PER_HOST * needs.fleetMicrosecondsPerCopy * 1e-6;
  return [
    [`Hosts with ${integer(PER_HOST)} connections each`, (connections) => integer(hostsOf(connections))],
    [
      `Source addresses, with the default ${integer(PORTS.default)} ports`,
      (connections) => integer(Math.ceil(connections / PORTS.default)),
    ],
    [
      `Source addresses, with the ${integer(PORTS.chart)} ports of the chart`,
      (connections) => integer(Math.ceil(connections / PORTS.chart)),
    ],
    ['Memory of the connections, each host', () => `${decimals(bytes / GIB, 2)} GiB`],
    [`CPU at ${CONNECTS_PER_HOST_AND_SECOND} connects/s, each host`, () => `${decimals(cores, 2)} cores`],
    ['CPU of one broadcast to all, each host', () => `${decimals(perCopy, 2)} s`],
    ['Connects per second, all hosts', (connections) => integer(connectsPerSecond(connections))],
  ];
}

function deploymentRows(needs: Needs): Rows {
  const gibibytes = (bytes: number) => `${decimals(bytes / GIB, 1)} GiB`;
  return [
    ['Memory of the workers, in service', (connections) => gibibytes(connections * needs.workerBytes)],
    ['Memory of nginx', (connections) => gibibytes(connections * needs.nginxBytes)],
    ['Memory of their sockets', (connections) => gibibytes(connections * 3 * needs.socketBytes)],
    [
      'CPU at that many connects/s',
      (connections) => `${decimals(connectsPerSecond(connections) * needs.deploymentSecondsPerConnect, 1)} cores`,
    ],
    [
      'CPU of one broadcast to all',
      (connections) => `${decimals(connections * needs.deploymentMicrosecondsPerCopy * 1e-6, 0)} core-seconds`,
    ],
    [
      'Data of one broadcast of 1,000 bytes',
      (connections) => `${decimals((connections * 1000 * 8) / 1e9, 0)} Gbit, without headers`,
    ],
    [
      'Pairs of an nginx address and a worker',
      (connections) => `at least ${integer(Math.ceil(connections / PORTS.chart))}`,
    ],
  ];
}

function costRows(): [string, string[], string][] {
  const dollars = (usd: number) => `$${decimals(usd, 2)}`;
  const units = (connections: number) =>
    Math.max(connections / BALANCER.activePerUnit, connectsPerSecond(connections) / BALANCER.newPerUnitAndSecond);
  return [
    ...HOST_PRICES.map(({ what, usdPerHour, source }): [string, string[], string] => [
      `Generators: ${what}`,
      CONNECTIONS.map((connections) => dollars(hostsOf(connections) * usdPerHour)),
      source,
    ]),
    [
      `AWS Application Load Balancer, us-east-1: $${BALANCER.usdPerHour} + $${BALANCER.usdPerUnitHour} for each ${integer(BALANCER.activePerUnit)} active, or ${BALANCER.newPerUnitAndSecond} new per second`,
      CONNECTIONS.map((connections) => dollars(BALANCER.usdPerHour + units(connections) * BALANCER.usdPerUnitHour)),
      'cloud-horizons.com, “ALB: the line item nobody watches”, 8 May 2026',
    ],
  ];
}
