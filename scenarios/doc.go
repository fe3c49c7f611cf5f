// Package scenarios plays scenario files. A scenario is a YAML file that sends requests to a
// Kubernetes API server and states the expected answers. Each scenario gets its own cluster in
// this process. The seed of the clusters is always the same.
//
// In a Go test, with or without a controller that runs beside each scenario:
//
//	func TestScenarios(t *testing.T) { scenarios.Run(t, "testdata/scenarios") }
//
//	func TestOperator(t *testing.T) {
//		scenarios.Run(t, "testdata/operator", scenarios.WithController(operate), scenarios.WithOptions(fakecluster.WithCRDPaths("config/crd")))
//	}
//
// In a shell, where new writes a first file:
//
//	fakecluster new scenario testdata/scenarios/first.yaml
//	fakecluster run --crds config/crd testdata/scenarios
//
// WithOptions in a test, and the flags --crds and --manifests in a shell, install the definitions of
// an operator in every cluster from the start. Alternatively, the setup of each scenario creates
// them, as below. Do not do both: the second creation of the same name fails.
//
// # A scenario
//
// This scenario creates a definition and an object, and reads the object. Then it tries to create a
// second object with the same name, which the server rejects:
//
//	scenario: A name is taken once
//	setup:
//	- file: crontab-crd.yaml
//	steps:
//	- create: &crontab
//	    apiVersion: stable.example.com/v1
//	    kind: CronTab
//	    metadata: {name: my-cron}
//	    spec: {cronSpec: "* * * * */5"}
//	  as: created
//	- get: {apiVersion: stable.example.com/v1, kind: CronTab, name: my-cron}
//	  expect:
//	    metadata: {uid: !from created.metadata.uid, generation: 1}
//	    spec: {cronSpec: "* * * * */5"}
//	    status: !absent
//	- name: the same once more
//	  create: *crontab
//	  error:
//	    code: 409
//	    reason: AlreadyExists
//	    message: crontabs.stable.example.com "my-cron" already exists
//
// The fields of a scenario:
//
//   - scenario: its name, a sentence that states the rule that the scenario proves.
//   - cases: a table, for a scenario that is played several times with different values.
//   - cluster: options of its cluster; optional. Its fields: controllers: [NAME, ...] lists the
//     controllers of kube-controller-manager that act within a write, by their names in its flag
//     --controllers; [] means none, and the others run with workloads. withAdmissionPlugins: [NAME, ...] and withoutAdmissionPlugins: [NAME, ...] enable and
//     disable admission plugins of kube-apiserver, by their names in its flags. runtimeConfig:
//     ["resource.k8s.io/v1beta2=true", ...] serves versions that are off by default, in the syntax
//     of the flag. legacyAPIs: true also serves definitions and policies in v1beta1.
//     withoutNamespaceLifecycle: true allows objects in namespaces that do not exist. alone: true
//     marks a scenario that concerns everything in a cluster, such as its initial objects, and so
//     cannot be played on an existing cluster. fakecluster: true marks a scenario that tests
//     behavior of fakecluster alone, such as its response where a real server calls a kubelet.
//   - workloads: what lives in its cluster: controllers, a scheduler, and nodes with their pods;
//     {} for the defaults.
//   - webhooks: a list of webhooks that the cluster can reach.
//   - setup: a list of manifests, created in order before the first step. If the server
//     rejects one, the scenario fails. The list may also contain shared setups and steps.
//   - steps: a list of steps, played in order. The scenario ends and fails at the first step
//     whose answer is not as expected.
//
// A file contains one scenario, or several separated by "---", each with its own cluster. Fields
// and steps that are not in this manual are mistakes. Before it plays anything, the runner reports
// them with file, line and column. It also reports expressions that are not valid CEL, names that
// are used before they are captured, and expectations that can never fail.
//
// # Cases
//
// A table plays one scenario several times. Each case is a mapping of parameters to values,
// one of which is its name. !from case.PARAMETER is replaced by the value; in expressions the
// variable case has all values:
//
//	scenario: The replicas of a Deployment are not negative
//	cases:
//	- {name: two, replicas: 2, error: !absent }
//	- {name: left-out, replicas: !absent , error: !absent }
//	- {name: negative, replicas: -1, error: {code: 422}}
//	steps:
//	- create:
//	    apiVersion: apps/v1
//	    kind: Deployment
//	    metadata: {name: !from case.name }
//	    spec:
//	      replicas: !from case.replicas
//	      selector: {matchLabels: {app: web}}
//	      template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: nginx}]}}
//	  error: !from case.error
//
// Each case is played on its own cluster. The steps of the setup that are the same for all cases
// are played once, and the cluster of each case is a fork of the result. If the parameter in error
// is !absent, the request must succeed, and expect is compared; only then may a step have both
// expect and error. In expect and code, !absent means that there is no expectation. Each case must
// have every parameter that the scenario refers to, and no others.
//
// In setup and steps a parameter may replace any value, including a whole mapping or list, as in
// get: !from case.object, fault: !from case.fault, eventually: !from case.limit or that:
// !from case.conditions. If the parameter of a step's field is !absent, the step does not have that
// field: with as: !from case.user, the administrator makes the request. The cluster and the
// webhooks are the same for all cases.
//
// # Shared setups
//
// A setup that several scenarios share is a file of its own. It declares its parameters with their
// default values, or with !present if the parameter is required. In the file, !from with.PARAMETER is
// replaced by the value, and expressions have the variable with. Names of the scenario are not visible
// in it. The file deployment.yaml:
//
//	parameters: {name: !present , replicas: 2}
//	setup:
//	- apiVersion: apps/v1
//	  kind: Deployment
//	  metadata: {name: !from with.name }
//	  spec:
//	    replicas: !from with.replicas
//	    selector: {matchLabels: {app: !from with.name }}
//	    template:
//	      metadata: {labels: {app: !from with.name }}
//	      spec: {containers: [{name: web, image: nginx}]}
//
// This uses it twice. A step in a setup prepares what a manifest cannot, such as a status:
//
//	setup:
//	- {use: deployment.yaml, with: {name: web}}
//	- {use: deployment.yaml, with: {name: api, replicas: 1}}
//	- status: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, status: {replicas: 2}}
//
// # Manifests
//
// Write a manifest in place, or in a file and {file: PATH} in place of the manifest. The path is
// relative to the scenario's file. In a setup the file may contain several documents, or PATH is a
// folder. The manifests in a folder are created in the order that installing needs; files for
// kustomize and documents without apiVersion and kind are skipped. In a setup, {kustomize: FOLDER}
// creates the objects of a kustomization, such as ../config/default. To use a
// manifest twice, write it once with a YAML anchor, as above. <<: *crontab merges it into another
// manifest.
//
// set changes a manifest from a file: it maps paths in the manifest to new values. A path
// consists of field names, or list indices from 0, separated by dots. set creates mappings on the
// path that do not exist.
//
//	setup:
//	- file: crontab-crd.yaml
//	  set:
//	    spec.names.shortNames: !absent
//	    spec.versions.0.schema.openAPIV3Schema.properties.spec.required: [cronSpec]
//
// The runner sends a manifest unchanged. It derives the URL of the request from apiVersion, kind and
// metadata, and looks up the resource of the kind in the server's discovery. If the server no longer
// serves the kind, the runner uses the resource that it last found. As with kubectl, the default
// namespace of a namespaced object is "default". Scalars are parsed as YAML 1.2: yes and on are strings,
// true is a boolean.
//
// # Steps
//
// A step is one request, or controls a webhook, the time or the log. Exactly one of these fields
// selects what the step does:
//
//   - create: MANIFEST: creates the object of the manifest.
//   - get: {apiVersion, kind, namespace, name} or {path}: reads one object, or sends a GET
//     to any path.
//   - list: {apiVersion, kind, namespace} or {path}: reads all objects of a kind, in one
//     namespace or, without namespace, in all.
//   - watch: {apiVersion, kind, namespace} or {path}: reads watch events of the objects
//     that list would read: as many as expect has. It starts at the option resourceVersion.
//   - update: MANIFEST: replaces an object with the manifest. If the manifest does not have
//     a resourceVersion, the runner adds the current one; with resourceVersion: !absent it
//     sends none.
//   - patch: {apiVersion, kind, namespace, name} or {path}: patches one object with body;
//     type is the type of the patch.
//   - apply: MANIFEST: applies the manifest with server-side apply. The default of the
//     option fieldManager is scenario.
//   - delete: {apiVersion, kind, namespace, name} or {path}: deletes one object.
//   - deletecollection: {apiVersion, kind, namespace} or {path}: deletes the objects that
//     list would read with the same options.
//   - scale: {apiVersion, kind, namespace, name, replicas}: sets the replicas of one object
//     through its subresource scale.
//   - status: MANIFEST: merge-patches the subresource status with the status of the
//     manifest, as a controller or a kubelet would.
//   - finalize: {apiVersion, kind, namespace, name, finalizer}: removes a finalizer from an
//     object, as its owner would; without finalizer it removes all. The finalizer
//     kubernetes of a namespace is removed through the subresource finalize.
//   - evict: {namespace, name}: evicts a Pod, as kubectl drain does; body is the
//     DeleteOptions.
//   - absent: {apiVersion, kind, namespace, name}: checks that an object does not exist or,
//     without name, that list would return no objects.
//   - count: {apiVersion, kind, namespace} or {path}: counts the objects that list would
//     read; the answer is the number.
//   - events: {apiVersion, kind, namespace, name}: reads the Events about one object; the
//     answer is the list of them, oldest first.
//   - log: VALUE: writes a line to the log of the scenario, which is shown if the scenario
//     fails.
//   - advance: DURATION: advances virtual time by the duration, which may be computed.
//   - settle: {quiet, within}: waits until nothing is left to do: no request is in flight,
//     all events are delivered, and there are no writes for quiet of virtual time (default
//     1s). It fails after within (default 10m).
//   - fault: {verb, resource, subresource, namespace, name, user, userAgent, after, times,
//     probability, optional, latency, effect}: injects a fault into requests from now on,
//     as fakecluster.Inject does. The fault affects all clients, including the scenario
//     itself, unless user or userAgent selects some. effect is conflict, unavailable,
//     timeout, cutBeforeCommit, cutAfterCommit, expireWatch or failConversion, or one of
//     tooManyRequests: DURATION, internalError: TEXT, refuseAdmission: TEXT, failWebhook:
//     NAME, staleRead: REVISIONS, dropWatch: EVENTS and delayWatch: DURATION. The fault
//     skips the first after requests, and affects at most times of the others, each with
//     the given probability, such as 0.5. Because the seed of the cluster is constant, it
//     affects the same requests in every run. The scenario fails if the fault never
//     occurred, unless it is optional.
//   - compact: {}: discards the history of the cluster, as etcd does every five minutes:
//     requests for older revisions get 410 Gone.
//   - calls: NAME: reads the calls that a webhook received since the last calls step.
//   - webhook: {name, response, ...}: changes the answers of a webhook from now on.
//
// A path is the complete path of a request, and may include a query: get: {path:
// "/apis/stable.example.com/v1/crontabs?limit=1"}. Use it for endpoints without a kind, such as
// /version, and for kinds that the server no longer serves.
//
// These fields add details to the request:
//
//   - subresource: NAME: sends the request to this subresource of the object.
//   - options: {fieldManager, force, ...}: query parameters of the request, by their
//     Kubernetes names.
//   - type: json, merge or strategic: the type of the patch.
//   - body: VALUE: the body of the request: a patch, or the DeleteOptions of a delete. A
//     string is sent unchanged, also in place of a manifest; any other value is sent as
//     JSON.
//   - to: {apiVersion, kind, namespace, name} or {path}: where to send the manifest, if not
//     to the object that its apiVersion, kind and name identify.
//   - headers: {NAME: VALUE}: headers of the request; they replace those that the runner
//     sends.
//   - as: {user, groups}, {serviceAccount} or {token}: the user of the request: any user
//     name with groups, a service account as NAMESPACE/NAME, or the user of a token. The
//     default is the administrator of the cluster, who may do everything.
//   - eventually: DURATION: the expectation must become true within this time, such as 30s.
//   - consistently: DURATION: the expectation must be true at once and stay true for this
//     time. In a get without an expectation, eventually and consistently require that the
//     object exists.
//
// This patches a status in a dry run, so that the server stores nothing:
//
//	steps:
//	- patch: {apiVersion: stable.example.com/v1, kind: CronTab, name: my-cron}
//	  subresource: status
//	  type: merge
//	  body: {status: {replicas: 1}}
//	  options: {dryRun: All, fieldManager: me}
//
// The runner sends its own preparatory requests, such as discovery, as the administrator.
//
// These fields name the step and state the expected answer:
//
//   - name: a short description of the step, shown if it fails.
//   - as: a name for the answer, for use in later steps. If as is the user of the step,
//     the answer has no name.
//   - expect: fields that the answer must have.
//   - error: the error that the server must return. It cannot be combined with expect.
//   - code: the HTTP status, to distinguish success codes.
//   - warnings: the texts of the warnings, in order; [] requires that there are none.
//   - table: the output of kubectl get, or wide: the output with -o wide.
//   - that: conditions that must be true.
//   - condition: TYPE or TYPE=STATUS: a condition that the status of the object must have, such as
//     Available or Degraded=False. As with kubectl wait, a condition that was set for an older
//     generation does not count. With eventually, the step waits for it.
//
// A step without error must succeed, even if it does not have expect. A step with error must fail.
//
// # Expectations
//
// An answer matches expect if it has every field in expect, with an equal value. It may have other
// fields. This holds for mappings at any depth. A list must have the same number of items as the
// expected list, and each item must match the expected item at its index. 1 and 1.0 are equal. A body
// that is not JSON is a string.
//
// The fields of error are those of the server's Status: code, reason, message, details, status. An
// error without a Status, for example at a path that the server does not serve, has the fields
// code, and body with the text.
//
// A watch expects a list of events, in order, and reads only that many. Make the changes first,
// and then watch from a resourceVersion before them: the step then does not have to wait.
//
// A table is a list of rows, and a row is a list of cells. The first row has the names of the
// columns as kubectl prints them, in capitals. The other rows have the values that the server
// sends; numbers are numbers, not text. The answer to such a step is a Table:
//
//	steps:
//	- list: {apiVersion: stable.example.com/v1, kind: CronTab}
//	  table:
//	  - [NAME, SPEC, REPLICAS, AGE]
//	  - [my-cron, "* * * * *", 1, !present ]
//
// Conditions express everything except equality. They are expressions in the Common Expression
// Language (CEL), with its extensions for strings, lists, sets, math, encoders, bindings and
// optional values. One function is added: object.merge(patch) applies a merge patch to the object.
// The variable answer is the body of the answer. Each earlier answer with a name (as) is a variable
// of that name:
//
//	steps:
//	- get: {apiVersion: stable.example.com/v1, kind: CronTab, name: my-cron}
//	  that:
//	  - answer.metadata.resourceVersion != created.metadata.resourceVersion
//	  - answer.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')
//
// Every evaluation has a budget: one million iterations of all, exists, filter, map and similar
// macros, and ten million items processed by functions such as in and distinct. If an expression exceeds
// it, the step fails.
//
// # Waiting
//
// A scenario does not have to wait for the server: all effects of a write in the server are complete when
// the write returns. It has to wait for a controller that runs beside it (see [WithController]), and for
// effects that are due at a certain time. In get, list, count, absent and events steps, eventually and
// consistently set how long to wait. The runner watches the objects and checks the expectation after each
// change, never in between. A get checks every state of the object, unless the watch breaks: then the runner
// reads the object and starts a new watch after a pause of at most 30 seconds. A failure lists the changes
// during the wait, field by field.
//
//	steps:
//	- get: {apiVersion: apps/v1, kind: Deployment, name: web}
//	  eventually: 1m
//	  expect: {status: {readyReplicas: 2}}
//	- settle: {}
//	- advance: 12h
//	- absent: {apiVersion: v1, kind: Pod, namespace: default}
//	  consistently: 10m
//
// Scenarios that wait, and all scenarios with a controller, are played in a bubble of testing/synctest,
// where time is virtual. It starts at midnight on January 1, 2000, and advances only when every
// goroutine waits, so an hour takes no real time.
//
// # Controllers, nodes and pods
//
// With workloads, Kubernetes' controllers and scheduler run in the cluster, and nodes whose pods start, become
// ready and complete, without images. Its fields are optional:
//
//	workloads:
//	  nodes: 2                 # or a list of Node objects; the default is 3
//	  behaviors:               # what containers do; the first one that selects a container applies
//	  - {image: "web:2", readyDelay: 20s}
//	  - {owner: Job/broken, exitCode: 3}
//	  programs:                # of the machine, for images; a relative path begins at the folder of the file
//	  - {image: "ghcr.io/acme/operator", path: ./bin/manager}
//	  controlPlane: true       # adds a control-plane node, CoreDNS and kube-proxy
//	  provisioners: [ebs.csi.aws.com]        # whose claims get volumes
//	  controllers: ["*", "-ttl-controller"]  # as in the flag of kube-controller-manager
//	  scheduler: false         # or a KubeSchedulerConfiguration
//
// The page docs/workloads.md has the fields of behaviors. A scenario with programs is played in real time. A behavior that has applied to no container by the end of
// the scenario is a failure. Steps wait with eventually and condition, such as Available of a Deployment, Complete of a
// Job and Ready of a Pod:
//
//	steps:
//	- get: {apiVersion: apps/v1, kind: Deployment, name: web}
//	  eventually: 1m
//	  condition: Available
//
// Such scenarios are played in virtual time, so that a day with CronJobs takes seconds. settle ignores the Leases that nodes
// renew. A node whose requests fail, by a fault with user: "system:node:n1" and subresource: "*", becomes NotReady. A program that
// plays them with [Run] needs the option [WithWorkloads]; fakecluster run has it. On the cluster of --kubeconfig they
// are skipped.
//
// # Webhooks
//
// A webhook is a TLS server behind a service that only the scenario's cluster can reach. It
// receives a review (a ConversionReview or an AdmissionReview) and answers with a review of the
// same kind and version. The scenario defines the response in it, as a fixed value or with
// expressions, marked !cel, over the request of the review:
//
//	scenario: Each version has the fields of its schema
//	webhooks:
//	- name: convert
//	  service: {namespace: default, name: example-conversion-webhook-server, path: /crdconvert}
//	  response:
//	    result: {status: Success}
//	    convertedObjects: !cel >-
//	      request.objects.map(o, o.merge({'apiVersion': request.desiredAPIVersion,
//	        'hostPort': null, 'host': o.hostPort.split(':')[0], 'port': o.hostPort.split(':')[1]}))
//	setup:
//	- file: my-versioned-crontab-with-conversion.yaml
//	  set: {spec.conversion.webhook.clientConfig.caBundle: !from convert.caBundle}
//	- {apiVersion: example.com/v1beta1, kind: CronTab, metadata: {name: local-crontab}, hostPort: "localhost:1234"}
//	steps:
//	- get: {apiVersion: example.com/v1, kind: CronTab, name: local-crontab}
//	  expect: {host: localhost, port: "1234", hostPort: !absent }
//	- calls: convert
//	  expect:
//	  - path: /crdconvert?timeout=30s
//	    review: {kind: ConversionReview, request: {desiredAPIVersion: example.com/v1}}
//
// The fields of a webhook:
//
//   - name: the name of the webhook in steps.
//   - service: {namespace, name, port, path}: the service reference that reaches the webhook. The
//     default of port is 443. Without path the webhook answers at every path. Webhooks may share a
//     service.
//   - response: the response of the review. The runner adds the uid of the request, unless
//     the response has a uid or !absent there.
//   - body: replaces the whole review: a value that is sent as JSON, or a string that is sent
//     unchanged.
//   - code: the HTTP status; the default is 200.
//   - headers: {NAME: VALUE}: headers of the answer; they replace the default ones.
//   - silent: close or hang: the webhook does not answer. It closes the connection, or waits
//     until the caller gives up: after the timeoutSeconds of an admission webhook, or after 30
//     seconds for a conversion.
//
// A webhook must have response, body or silent. A webhook step has the name and some of the
// other fields; they replace all previous fields of the webhook.
//
// The name of a webhook is also a variable for !from and conditions. Its fields are for webhook
// configurations: caBundle verifies the webhook's certificate, and url is for configurations
// without a service.
//
// The answer to a calls step is the list of calls, in the order of their arrival. Each has its
// method, its path with query, its headers, and the review. If an expression in the response
// fails, the step that caused the call fails.
//
// # Marks
//
// A mark is a YAML tag in place of a value:
//
//   - !absent: the field does not exist. In a manifest: the field is not sent, even if the
//     runner would otherwise add it.
//   - !present: the field exists, with any value.
//   - !only: the mapping has these fields and no others, as in spec: !only {replicas: 1}.
//   - !unordered: the list has these items and no others, in any order.
//   - !from: a value of an earlier answer, as in
//     resourceVersion: !from created.metadata.resourceVersion. The first part is the name of
//     the answer; the others are field names, or list indices from 0.
//   - !cel: the value of an expression over the earlier named answers, as in
//     replicas: !cel created.spec.replicas + 1; in the response of a webhook, over the request of
//     the review.
//
// For editors with the YAML language server, set
// yaml.customTags: ["!absent", "!present", "!from", "!cel", "!only mapping", "!unordered sequence"].
//
// Inside braces YAML requires a space after a tag: {status: !absent }.
//
// Manifests, bodies and options accept !absent, !from and !cel; references (apiVersion, kind, ...), advance
// and users accept !from and !cel; responses and bodies of webhooks accept !absent and !cel; cases accept all
// marks except !cel; expectations accept all.
//
// # Which files are scenarios
//
// The runner reads every file that is given, whatever its name, and in a folder all files in and below it
// that end in .yaml or .yml. It does not skip files silently. A YAML file with "scenario" or "steps" at the
// top level of a document is a scenario file. Any other file must be used by a scenario of the same run, for
// its manifests or as a shared setup; otherwise it is a mistake.
//
// # A cluster that runs already
//
// With --kubeconfig FILE the command plays scenarios on the cluster of a kubeconfig.
// Each scenario has its own namespaces and API groups: they have a unique prefix in the cluster, which
// the scenario does not see. All that a scenario creates is deleted when it ends. Scenarios also see the other
// objects of the cluster, such as the definitions of an operator that is installed. Scenarios that see or change more
// than their own namespaces and definitions are therefore played one after the other, the rest concurrently.
// Webhooks are served at 127.0.0.1, where an API server on the same machine can call them; configurations that
// refer to their services get that address. The command skips scenarios that configure their cluster, need virtual
// time (advance, settle, and consistently for more than five minutes), use faults or compaction, impersonate
// from a user who is not the administrator, have webhooks that the API server cannot call, or read the calls of a
// conversion webhook, because a real server also converts for its caches.
//
// A write that may change other objects fails and is not sent: a deletecollection across the cluster, an
// object without a namespace such as a ClusterRole, or anything in kube-system.
// --allow-cluster-changes sends it, for a cluster that nobody needs afterwards.
//
// A real cluster reacts to many writes a little later. The runner waits until a new definition is served, until
// policies, their bindings and webhook configurations are in force (it writes one of its own after them and sends
// dry runs until that one rejects them), until the status of a quota is complete, and at the end until definitions
// are gone. If an answer is not the expected one, the step is repeated for up to --grace (10s), but only if it
// changed nothing: if it reads, or if the server rejected it. A write that should be rejected is sent as a dry run
// until the dry run is rejected. A write that was accepted with another answer fails at once.
//
// # Expectations from answers
//
// With --update the command plays scenarios and rewrites, in their files, the expectations that fail to
// match the cluster's answers. It changes only what differs; comments, order and layout stay. A field that
// does not exist becomes !absent, and a value that differs in each run, such as a uid, becomes !present. If an
// expectation cannot be rewritten, the failure gives the reason: it is a condition or computed from another
// answer, it is in another file or behind an anchor, or cases that share it get different answers. Review
// the diff before you keep it: the bug may be in the cluster or in the controller.
//
// # A session as a scenario
//
// "fakecluster serve --record FILE" records the requests of kubectl or a program. When it ends, it writes
// them to a new file as a scenario, without watches and discovery. Each request has its user, values that
// the server generated become references to earlier answers, and expectations have the fields that the
// server added. The scenario is then played once, and values that differ become !present. The recording
// stops at 16 MiB of text, and the file has a comment about it.
//
// # The log
//
// The command writes one timed line for each scenario that passed; on a terminal only with -v. For a
// scenario that failed it shows the file and line of the step, its number, its verb and object, and the
// difference between the expected and the actual answer as lines of YAML (-want +got). The last line is
// "N passed, N failed".
package scenarios
