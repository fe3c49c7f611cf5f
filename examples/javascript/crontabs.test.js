import assert from 'node:assert/strict';
import path from 'node:path';
import { after, before, test } from 'node:test';

import { CustomObjectsApi, KubeConfig, Watch } from '@kubernetes/client-node';

import { Host, HostError } from './fakecluster.js';

const crdPaths = [path.resolve(import.meta.dirname, '../../scenarios/crontab')];
const cronTabs = { group: 'stable.example.com', version: 'v1', namespace: 'default', plural: 'crontabs' };

const cronTab = (name, cronSpec = '* * * * */5') => ({
  apiVersion: 'stable.example.com/v1', kind: 'CronTab', metadata: { name }, spec: { cronSpec, image: 'app:1' },
});

let host;
before(async () => { host = await Host.open(); });
after(() => host.close());

/** The client of a cluster. */
function configOf(cluster) {
  const config = new KubeConfig();
  config.loadFromString(cluster.kubeconfig);
  return config;
}

/** A cluster for a test, and its client. */
async function start(t) {
  const cluster = await host.start(t, { crdPaths });
  return { cluster, client: configOf(cluster).makeApiClient(CustomObjectsApi) };
}

/** The Status of a request that is refused. */
async function refused(request) {
  const error = await request.then(() => assert.fail('the request is not refused'), (error) => error);
  return JSON.parse(error.body);
}

test('a definition is served', async (t) => {
  const { client } = await start(t);
  const made = await client.createNamespacedCustomObject({ ...cronTabs, body: cronTab('a') });
  assert.equal(made.metadata.generation, 1);
  const { code, reason } = await refused(client.createNamespacedCustomObject({ ...cronTabs, body: cronTab('b', 5) }));
  assert.deepEqual([code, reason], [422, 'Invalid']);
});

test('a watch has the events', async (t) => {
  const { cluster, client } = await start(t);
  const seen = new Promise((resolve, reject) => {
    const path = '/apis/stable.example.com/v1/namespaces/default/crontabs';
    const watch = new Watch(configOf(cluster)).watch(path, {}, (type, object) => resolve([type, object.metadata.name]), reject);
    t.after(async () => (await watch).abort());
  });
  await client.createNamespacedCustomObject({ ...cronTabs, body: cronTab('a') });
  assert.deepEqual(await seen, ['ADDED', 'a']);
});

test('a fork is independent', async (t) => {
  const { cluster, client } = await start(t);
  await client.createNamespacedCustomObject({ ...cronTabs, body: cronTab('a') });
  const fork = configOf(await cluster.fork()).makeApiClient(CustomObjectsApi);
  await fork.deleteNamespacedCustomObject({ ...cronTabs, name: 'a' });
  assert.equal((await refused(fork.getNamespacedCustomObject({ ...cronTabs, name: 'a' }))).code, 404);
  assert.equal((await client.getNamespacedCustomObject({ ...cronTabs, name: 'a' })).metadata.name, 'a');
});

test('a fault strikes once', async (t) => {
  const { cluster, client } = await start(t);
  const fault = await cluster.inject({ verb: 'create', resource: 'crontabs.stable.example.com', times: 1, effect: { type: 'Unavailable' } });
  assert.equal((await refused(client.createNamespacedCustomObject({ ...cronTabs, body: cronTab('a') }))).code, 503);
  await client.createNamespacedCustomObject({ ...cronTabs, body: cronTab('a') });
  assert.equal((await cluster.call('GET', `faults/${fault}`)).fired, 1);
});

test('a fault that never fires is an error', async () => {
  const cluster = await host.start(undefined);
  await cluster.inject({ verb: 'delete', effect: { type: 'Conflict' } });
  await assert.rejects(cluster.end(), new HostError('the fault never fired: delete any resource: Conflict; no request matched'));
});

test('a failed test has the findings', async () => {
  const said = [];
  const failed = { passed: false, after: () => {}, diagnostic: (text) => said.push(text) };
  const cluster = await host.start(failed, { crdPaths });
  const client = configOf(cluster).makeApiClient(CustomObjectsApi);
  assert.equal((await refused(client.createNamespacedCustomObject({ ...cronTabs, body: cronTab('b', 5) }))).code, 422);
  await cluster.end();
  assert.match(said.join(), /create crontabs\.stable\.example\.com .*422 /);
});

test('a host on a port', async (t) => {
  const host = await Host.open({ port: true });
  t.after(() => host.close());
  const cluster = await host.start(undefined);
  assert.match(cluster.url, /^http:\/\/127\.0\.0\.1:/);
  await cluster.end();
});
