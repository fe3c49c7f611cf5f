// Clusters for tests in JavaScript, by the control API of "fakecluster host". It needs Node.js only.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';

/** What the host refuses, in its words. */
export class HostError extends Error {}

/** The user's host, which is started if it does not run, with a session: its clusters end with this process. */
export class Host {
  #address;
  #answer; // stays open as long as the session

  /** Opens a session. With port, the host is one of its own on a port of this machine, as it has to be on Windows. */
  static async open({ port = process.platform === 'win32' } = {}) {
    const [where, token] = ready(['host', '--background', ...(port ? ['--listen', '0'] : [])]);
    const host = new Host();
    host.#address = where.startsWith('unix:')
      ? { socketPath: where.slice('unix:'.length) }
      : { host: '127.0.0.1', port: new URL(where).port, headers: { Authorization: `Bearer ${token}` } };
    host.#answer = await host.#send('POST', '/v1/sessions');
    host.#answer.socket.unref(); // a session that nobody closes does not keep the process alive
    const [line] = await once(createInterface({ input: host.#answer }), 'line');
    host.session = JSON.parse(line).session;
    return host;
  }

  /** Ends the session, and with it all of its clusters. */
  close() {
    this.#answer.destroy();
  }

  async #send(method, path, body) {
    const request = http.request({ ...this.#address, agent: false, method, path });
    request.end(body && JSON.stringify(body));
    const [answer] = await once(request, 'response');
    return answer;
  }

  /** Calls an operation of the host, as docs/remote.md lists them, and returns its answer. */
  async call(method, path, body) {
    const answer = await this.#send(method, path, body);
    const content = await text(answer);
    const value = content ? JSON.parse(content) : undefined;
    if (answer.statusCode >= 300) throw new HostError(value.error);
    return value;
  }

  /**
   * Starts a cluster that ends with a test of node:test. The options are the fields of POST /v1/clusters, such as crdPaths. Without a
   * test, end the cluster yourself.
   */
  async start(t, options = {}) {
    return new Cluster(this, t, await this.call('POST', '/v1/clusters', { session: this.session, ...options }));
  }
}

/** Runs the program, and returns the words of the line by which the host says where it is. */
function ready(args) {
  const program = process.env.FAKECLUSTER || 'fakecluster';
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe' }).trim().split(' ').slice(1);
  } catch (error) {
    if (error.code !== 'ENOENT') throw new HostError(error.stderr.trim());
    throw new HostError(`there is no program ${program}: put fakecluster on the PATH, or its path into FAKECLUSTER`);
  }
}

/** A cluster: how to reach it, and what can be done with it beside its API. */
export class Cluster {
  constructor(host, t, described) {
    this.host = host;
    this.test = t;
    ({ cluster: this.name, url: this.url, token: this.token, kubeconfig: this.kubeconfig } = described);
    t?.after(() => this.end());
  }

  /** Calls an operation of the cluster, such as POST settle. */
  call(method, operation, body) {
    return this.host.call(method, `/v1/clusters/${this.name}/${operation}`, body);
  }

  /** Starts a copy of the cluster as it is now, which ends with the same test, or with another. */
  async fork(t = this.test) {
    return new Cluster(this.host, t, await this.call('POST', 'fork', { session: this.host.session }));
  }

  /** Puts a fault in force, and returns its number. */
  async inject(fault) {
    return (await this.call('POST', 'faults', fault)).fault;
  }

  /** Ends the cluster. A failed test prints why it may have failed; for another, a fault that never fired is an error. */
  async end() {
    const failed = this.test?.passed === false;
    if (failed) for (const line of ((await this.call('GET', 'findings')).text ?? '').split('\n')) this.test.diagnostic(line);
    const { errors = [] } = await this.host.call('DELETE', `/v1/clusters/${this.name}`);
    if (errors.length > 0 && !failed) throw new HostError(errors.join('\n'));
  }
}
