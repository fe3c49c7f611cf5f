// Package scenarios plays scenario files. A scenario is written in YAML: it sends requests
// to a Kubernetes API server and says what the answers must be. Each scenario gets a
// cluster of its own, in this process, and the cluster has the same seed every time.
//
// In a Go test, with or without a controller beside each scenario:
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
// The definitions of an operator are in every cluster from the start: by WithOptions in a test, and by
// the flags --crds and --manifests in a shell. Or they stand in the setup of each scenario, as below;
// then no option may bring them too, for a name is taken once.
//
// # A scenario
//
// This scenario creates a definition and an object, and reads the object back. Then it
// tries to create a second object with the same name, which the server refuses:
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
//   - scenario: its name, a sentence that says which rule the scenario proves.
//   - cases: a table, for a scenario that is played several times with other values.
//   - cluster: how its cluster differs from the usual one. It may be left out. Its fields:
//     controllers: [NAME, ...] says which controllers of kube-controller-manager act, by
//     the names that its flag --controllers knows them by, and [] that none does;
//     withAdmissionPlugins: [NAME, ...] and withoutAdmissionPlugins: [NAME, ...] turn
//     admission plugins of kube-apiserver on and off, by the names that its flags know them by;
//     runtimeConfig: ["resource.k8s.io/v1beta2=true", ...] serves versions that are off by
//     default, worded as its flag;
//     legacyAPIs: true serves definitions and policies in v1beta1, too;
//     withoutNamespaceLifecycle: true lets objects live in namespaces that do not
//     exist; alone: true says that the scenario is about all that is in a cluster, such as what
//     it begins with, so that one that runs already will not do; fakecluster: true says that it
//     is about what only a fakecluster does, such as what it says where a real server would call
//     a kubelet.
//   - webhooks: a list of webhooks that the cluster can reach.
//   - setup: a list of manifests, created in order before the first step. If the server
//     refuses one, the scenario fails. A shared setup or a step may stand in the list, too.
//   - steps: a list of steps, played in order. The first step that does not go as expected
//     ends the scenario, which has failed then.
//
// A file holds one scenario, or several separated by "---", each with a cluster of
// its own. Fields and steps that are not in this manual are mistakes. The runner reports
// them with file, line and column before it plays anything, as well as expressions that are
// not CEL, names that are used before they are captured, and expectations that can never fail.
//
// # Cases
//
// A table plays one scenario several times. Each case is a mapping of parameters to values,
// one of which is its name. !from case.PARAMETER stands for the value, and in expressions the
// variable case has all of them:
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
// Each case is played on a cluster of its own: a fork of one on which the setup has been played,
// as far as the setup is the same for all cases. If the parameter in error is !absent, the
// request must succeed; then expect counts, which may stand beside such an error. In expect and
// code !absent expects nothing. Each case has every parameter that the scenario refers to, and no
// other.
//
// A parameter may stand wherever a value stands in setup and steps, also in place of a whole mapping
// or list, as in get: !from case.object, fault: !from case.fault, eventually: !from case.limit or that:
// !from case.conditions. If it is !absent beside a step, the step is without that field: as: !from case.user
// is the administrator then. What the cluster is like, and the webhooks, are the same for all cases.
//
// # Shared setups
//
// A setup that several scenarios begin with stands in a file of its own, with its parameters and
// what they are by default, or !present if they have to be given. In it !from with.PARAMETER
// stands for a value, and expressions have the variable with. It sees no names but its own. The
// file deployment.yaml:
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
// This uses it twice. A step in a setup prepares what no manifest can, such as a status:
//
//	setup:
//	- {use: deployment.yaml, with: {name: web}}
//	- {use: deployment.yaml, with: {name: api, replicas: 1}}
//	- status: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}, status: {replicas: 2}}
//
// # Manifests
//
// A manifest stands where it is used, or in a file. Then {file: PATH} stands in its place,
// with a path relative to the scenario's file. In a setup the file may hold several
// documents. To use a manifest twice, write it once and give it a YAML anchor, as above.
// <<: *crontab merges it into another manifest.
//
// A manifest from a file may be changed where it is used: set names paths in it and the
// values to put there. A path consists of fields, or indices of lists from 0, with dots
// between them. If a mapping on the way does not exist, set makes it.
//
//	setup:
//	- file: crontab-crd.yaml
//	  set:
//	    spec.names.shortNames: !absent
//	    spec.versions.0.schema.openAPIV3Schema.properties.spec.required: [cronSpec]
//
// The runner sends a manifest as it is written. It makes the path of the request from
// apiVersion, kind and metadata, and asks the server's discovery which resource serves the
// kind. If the server no longer serves the kind, the runner takes the resource that did. As
// with kubectl, a namespaced object without a namespace goes to "default". Scalars are read
// as YAML 1.2: yes and on are strings, true is not.
//
// # Steps
//
// A step is one request, or concerns a webhook, the time or the log. One of these fields says
// which step it is:
//
//   - create: MANIFEST: sends the manifest as a new object.
//   - get: {apiVersion, kind, namespace, name} or {path}: reads one object, or whatever
//     the server has at a path.
//   - list: {apiVersion, kind, namespace} or {path}: reads all objects of a kind: those
//     of one namespace, or without namespace those of all.
//   - watch: {apiVersion, kind, namespace} or {path}: reads events of what list reads,
//     as many as expect has, and no further. It begins where the option resourceVersion
//     says.
//   - update: MANIFEST: sends the manifest in place of the object of its name, under the
//     resourceVersion that the manifest says; if it says nothing about that, under the
//     current one; and under none with resourceVersion: !absent.
//   - patch: {apiVersion, kind, namespace, name} or {path}: changes one object as the
//     body says; type says which type of patch it is.
//   - apply: MANIFEST: sends the manifest as an apply configuration, for server-side
//     apply. Without the option fieldManager, the manager is scenario.
//   - delete: {apiVersion, kind, namespace, name} or {path}: deletes one object.
//   - deletecollection: {apiVersion, kind, namespace} or {path}: deletes the objects
//     that list reads, with the same options.
//   - scale: {apiVersion, kind, namespace, name, replicas}: changes how many replicas one
//     object asks for, by its subresource scale.
//   - status: MANIFEST: sends the status of the manifest, as a merge patch of the
//     subresource status: what a controller or a kubelet would write.
//   - finalize: {apiVersion, kind, namespace, name, finalizer}: takes a finalizer off an
//     object, as who has put it there does in the end; without finalizer all of them. The
//     finalizer kubernetes of a namespace goes by its subresource finalize.
//   - evict: {namespace, name}: evicts a Pod, as kubectl drain does; body has DeleteOptions.
//   - absent: {apiVersion, kind, namespace, name}: makes sure that one object is not there,
//     or without name that none is that list would read.
//   - count: {apiVersion, kind, namespace} or {path}: counts the objects that list reads; the
//     answer is the number.
//   - events: {apiVersion, kind, namespace, name}: reads the Events recorded for one object,
//     the oldest first; the answer is the list of them.
//   - log: VALUE: writes a line to the log of the scenario, which is shown if it fails.
//   - advance: DURATION: lets that much virtual time pass, which may be computed.
//   - settle: {quiet, within}: waits until nothing is left to do: no request is on its way,
//     all events are delivered, and nothing is written for quiet of virtual time (1s if left
//     out). It fails if that takes longer than within (10m).
//   - fault: {verb, resource, subresource, namespace, name, user, userAgent, after, times, probability,
//     optional, latency, effect}: lets requests of clients go wrong from now on, as fakecluster.Inject does:
//     those of the scenario itself, too, unless user or userAgent say whose. effect is conflict,
//     unavailable, timeout, cutBeforeCommit, cutAfterCommit, expireWatch or failConversion, or one of
//     tooManyRequests: DURATION, internalError: TEXT, refuseAdmission: TEXT, failWebhook: NAME,
//     staleRead: REVISIONS, dropWatch: EVENTS and delayWatch: DURATION. It leaves the first after
//     requests alone, strikes times of the others at most, and each of them with the probability, such
//     as 0.5: as the seed of the cluster is always the same, it strikes the same ones in every run. The
//     scenario fails if the fault has never struck, unless it is optional.
//   - compact: {}: forgets the history of the cluster, as etcd does every five minutes: older
//     revisions are answered with 410.
//   - calls: NAME: reads the calls that a webhook got since the last step that read them.
//   - webhook: {name, response, ...}: changes how a webhook answers from now on.
//
// A path is the whole path of a request, and may have a query: get: {path:
// "/apis/stable.example.com/v1/crontabs?limit=1"}. Use it for what has no kind, such as
// /version, and for kinds that the server no longer serves.
//
// These fields say more about the request:
//
//   - subresource: NAME: the request goes to this subresource of the object.
//   - options: {fieldManager, force, ...}: options of the request, as Kubernetes names
//     them; they are its query.
//   - type: json, merge or strategic: which type of patch the body is.
//   - body: VALUE: what is sent: a patch, or the DeleteOptions of a delete. A string is
//     sent as it is, also in place of a manifest; anything else is sent as JSON.
//   - to: {apiVersion, kind, namespace, name} or {path}: where the manifest goes, if
//     that is not where its own apiVersion, kind and name say.
//   - headers: {NAME: VALUE}: headers of the request, in place of those that the runner
//     sends.
//   - as: {user, groups}, {serviceAccount} or {token}: who makes the request: a user of any
//     name, a member of the groups; a service account, written NAMESPACE/NAME; or whoever
//     bears the token. Without it the administrator of the cluster does, who may do
//     everything.
//   - eventually: DURATION: the expectation need not be true at once, but has to become true
//     in that time, such as 30s.
//   - consistently: DURATION: the expectation is true at once, and stays true for that time.
//     Beside a get without an expectation both speak of the object being there.
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
// What the runner has to find out before the request, such as the resource of a kind, it asks as
// the administrator.
//
// These fields name the step and say what its answer must be:
//
//   - name: a few words about the step, shown if it fails.
//   - as: a name for the answer, for use in later steps. In a step with as: {user, groups}
//     the answer has no name.
//   - expect: fields that the answer must have.
//   - error: the error that the server must answer. It cannot be combined with expect.
//   - code: the HTTP status, if it matters which status of success it is.
//   - warnings: the texts of the warnings, in order; [] means that there are none.
//   - table: what kubectl get prints, or wide: what it prints with -o wide.
//   - that: conditions that must be true.
//
// A step without error must succeed, even if it has no expect. A step with error must fail.
//
// # Expectations
//
// An answer is as expected if it has every field that expect names, with an equal value. It
// may have other fields. This holds for mappings at any depth. A list must have as many items
// as the expected one, and each item must be as expected. 1 and 1.0 are the same number. A
// body that is not JSON is a string.
//
// The fields of error are those of the Status that the server sends: code, reason, message,
// details, status. An error without a Status, for example at a path that the server does not
// know, has the fields code, and body with the text.
//
// A watch expects a list of events, in order, and reads only as many. It is best to make the
// changes first and then to watch from a resourceVersion before them: then the step does not
// have to wait.
//
// A table is a list of rows, and a row is a list of cells. The first row has the names of the
// columns as kubectl prints them, in capitals. The other rows have the values that the server
// sends, in which numbers are numbers. The answer to such a step is a Table:
//
//	steps:
//	- list: {apiVersion: stable.example.com/v1, kind: CronTab}
//	  table:
//	  - [NAME, SPEC, REPLICAS, AGE]
//	  - [my-cron, "* * * * *", 1, !present ]
//
// Conditions are for all that is not an equality. They are expressions in the Common Expression
// Language (CEL), with its extensions for strings, lists, sets, math, encoders, bindings and
// optional values. One more function is object.merge(patch): it applies a merge patch to the
// object. The variable answer is the body of the answer. Each earlier answer with a name (as)
// is a variable of that name:
//
//	steps:
//	- get: {apiVersion: stable.example.com/v1, kind: CronTab, name: my-cron}
//	  that:
//	  - answer.metadata.resourceVersion != created.metadata.resourceVersion
//	  - answer.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')
//
// Every evaluation has a budget: a million iterations of all, exists, filter, map and the like, and ten million
// items that functions such as in and distinct go through. An expression that needs more fails, and so does its step.
//
// # Waiting
//
// A scenario need not wait for the server: what follows a write is done when the write is
// answered. It has to wait for a controller that runs beside it (see [WithController]), and for
// what happens at a certain time. Beside get, list, count, absent and events, eventually and
// consistently say for how long. The runner looks at the objects when a watch says that
// they have changed, and never in between. A get sees every state that an object passes through,
// unless the watch breaks: then the runner looks again, and watches anew after a pause of at most 30
// seconds. A failure shows what changed meanwhile, field by field.
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
// Such scenarios are played in a bubble of testing/synctest, as are all with a controller. There
// time is virtual: it begins at midnight on January 1, 2000, and passes only
// when everything waits, so that an hour takes no time.
//
// # Webhooks
//
// A webhook is a server with TLS behind a service that only the scenario's cluster can reach.
// It receives a review (a ConversionReview or an AdmissionReview) and answers with a review of
// the same kind and version. The scenario says the response in it, as a fixed value or with
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
//   - service: {namespace, name, port, path}: the reference that reaches it. Without port it
//     is 443, without path the webhook answers at every path. Webhooks may share a service.
//   - response: the response of the review. The runner adds the uid of the request, unless
//     the response has a uid or !absent there.
//   - body: what the webhook sends instead of a review: a value, or a text that is sent as it
//     is.
//   - code: the HTTP status, 200 if left out.
//   - headers: {NAME: VALUE}: headers of the answer, in place of those that it has.
//   - silent: close or hang: the webhook does not answer. It closes the connection, or waits
//     until its caller gives up: after the timeoutSeconds of an admission webhook, or after 30
//     seconds for a conversion.
//
// A webhook must have response, body or silent. A webhook step has the name and some of the
// other fields, which from then on replace all that the webhook had before.
//
// A webhook's name is also a variable for !from and conditions, with what a configuration
// needs: caBundle, which verifies the webhook's certificate, and url, for a configuration
// without a service.
//
// The answer to a calls step is the list of the calls, in the order in which they came. Each
// has its method, its path and query, its headers, and the review. If an expression of the
// response fails, the step fails in which the call was made.
//
// # Marks
//
// A YAML tag in the place of a value, called a mark, says what no value can say:
//
//   - !absent: the field is not there. In a manifest: the field is not sent, even if the
//     runner would have added it.
//   - !present: the field is there, whatever its value.
//   - !only: the mapping has these fields and no others, as in spec: !only {replicas: 1}.
//   - !unordered: the list has these items and no others, in any order.
//   - !from: the value in the answer to an earlier step, as in
//     resourceVersion: !from created.metadata.resourceVersion. The first word is the name of
//     the answer, the others are fields, or indices from 0 of a list.
//   - !cel: the value of an expression over the earlier answers that have a name, as in
//     replicas: !cel created.spec.replicas + 1; in what a webhook answers, over the request of
//     the review.
//
// An editor may not know the tags. The YAML language server takes them from its setting
// yaml.customTags: ["!absent", "!present", "!from", "!cel", "!only mapping", "!unordered sequence"].
//
// Inside braces YAML wants a space after a tag: {status: !absent }.
//
// Manifests, bodies and options take !absent, !from and !cel, references (apiVersion, kind, ...), advance
// and users take !from and !cel, responses and bodies of webhooks !absent and !cel, cases all but
// !cel, and expectations all.
//
// # Which files are scenarios
//
// A file that is named is read, whatever its name. A folder stands for all files in and below it that end in
// .yaml or .yml. The runner skips none of them silently. A YAML
// file with "scenario" or "steps" at the top of a document is a scenario file. Any other file
// must be one that a scenario of the same run takes manifests from or uses as a shared setup,
// or it is a mistake.
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
// With --update the command rewrites the expectations of scenarios that fail, in their files, to
// what the cluster has answered. Only what differs changes; comments, order
// and layout stay. A field that is not there becomes !absent, and what is new each time, such as
// a uid, becomes !present. A failure says why an expectation cannot be rewritten: it is a condition
// or computed from another answer, stands in another file or behind an anchor, or is shared by
// cases that get different answers. Look at the difference before you keep it: the cluster may
// be wrong, or the controller.
//
// # A session as a scenario
//
// "fakecluster serve --record FILE" writes what kubectl or a program does with the cluster to a new
// file, when it ends. Watches and discovery are left out, requests say whose
// they are, values that the server has made are referred to, and expectations have what the server
// has added to what was sent. It is then played once, and what is answered otherwise becomes !present.
// A session that becomes longer than 16 MiB of text is not written further, and its file says so.
//
// # The log
//
// The command writes one timed line for each scenario that passed, on a terminal only if it is
// asked to. For one that failed it shows
// the step's file and line, its number, what it did to which object, and the difference
// between the expected answer and the actual one (-want +got). The last line is
// "N passed, N failed".
package scenarios
