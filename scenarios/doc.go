// Package scenarios plays scenario files: requests to a Kubernetes API server and
// what is expected of the answers, written in YAML. Each scenario gets a cluster of
// its own, in this process, and has the same seed every time.
//
// In a Go test it is
//
//	func TestScenarios(t *testing.T) { scenarios.Run(t, "testdata/scenarios") }
//
// and in a shell
//
//	fakecluster run testdata/scenarios
//
// # A scenario
//
// This one creates a definition and an object, reads it back, and is refused a
// second object of the name:
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
//   - scenario: its name, a sentence that says the rule it proves.
//   - cluster: what kind of cluster it needs; left out, the usual one. Its fields are
//     flags: legacyAPIs: true serves definitions and policies in v1beta1, too;
//     garbageCollection: true deletes dependents with their owners;
//     withoutNamespaceLifecycle: true lets objects live in namespaces that do not
//     exist.
//   - webhooks: a list of webhooks that the cluster can reach.
//   - setup: a list of manifests, created in order before the first step. A manifest
//     that is refused fails the scenario.
//   - steps: a list of steps, played in order. The first that does not go as expected
//     ends the scenario.
//
// A file holds one scenario, or several separated by "---", each with a cluster of
// its own. Fields and steps that are not in this manual are mistakes, reported with
// file and line before anything is played.
//
// # Manifests
//
// A manifest stands where it is used, or in a file: {file: PATH} takes its place, with
// the path relative to the scenario's file. In a setup that file may hold several
// documents. A manifest that is used twice is written once and given a YAML anchor, as
// above, and <<: *crontab merges it into another.
//
// A manifest from a file may be changed where it is used: set names paths in it and the
// values that stand there instead. A path is fields, or indices from 0 of a list, with
// dots between them; mappings on the way that are not there are made.
//
//	setup:
//	- file: crontab-crd.yaml
//	  set:
//	    spec.names.shortNames: !absent
//	    spec.versions.0.schema.openAPIV3Schema.properties.spec.required: [cronSpec]
//
// A manifest is sent as it is written. Of its apiVersion, kind, and metadata the runner
// only makes the path, and asks the server's discovery which resource serves the kind; if
// none does any more, it is the one that did. As with kubectl, a namespaced object
// without a namespace goes to "default". Scalars are read as YAML 1.2: yes and on are
// strings, true is not.
//
// # Steps
//
// A step is one request, or something about a webhook, and the field that says which:
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
//   - calls: NAME: reads the calls that a webhook got since the last step that read them.
//   - webhook: {name, response, ...}: has a webhook answer otherwise from now on.
//
// A path is the whole of a request's path, and may have a query: get: {path:
// "/apis/stable.example.com/v1/crontabs?limit=1"}. It reaches what has no kind, or no
// kind any more.
//
// Beside the request may stand more about it:
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
//
// This sets a status, and is a change that the server makes only on paper:
//
//	steps:
//	- patch: {apiVersion: stable.example.com/v1, kind: CronTab, name: my-cron}
//	  subresource: status
//	  type: merge
//	  body: {status: {replicas: 1}}
//	  options: {dryRun: All, fieldManager: me}
//
// And beside every request may stand
//
//   - name: a few words that a failure is reported with;
//   - as: the name of the answer, for later steps;
//   - expect: what the answer is like; or
//   - error: which error the request is refused with;
//   - code: the HTTP status, where it matters which of the good ones it is;
//   - warnings: the texts of the warnings, in order; [] says that there are none;
//   - table: what kubectl get prints, or wide: what it prints with -o wide;
//   - that: conditions that have to be true.
//
// A step without error has to succeed, with or without expect, and one with error must
// not.
//
// # Expectations
//
// An answer is as expected if every field that is named is there and equal; what is not
// named may be anything. This goes for mappings at any depth. Lists compare whole: as many
// items, each of them as expected. 1 and 1.0 are the same number; a body that is not JSON
// is a string.
//
// What error: names are the fields of the Status that the server sends: code, reason,
// message, details, status. An error without a Status, as at a path that nothing serves,
// has code, and body with the text.
//
// A watch expects a list of events, in order, and reads no further than that. It is best
// played after what it is to see, from a resourceVersion before that: nothing has to be
// waited for then.
//
// A table is a list of rows, and a row a list of cells. The first row is the names of the
// columns as kubectl prints them, in capitals; the other cells are the values that the
// server sends, and numbers are numbers. The answer to such a step is a Table:
//
//	steps:
//	- list: {apiVersion: stable.example.com/v1, kind: CronTab}
//	  table:
//	  - [NAME, SPEC, REPLICAS, AGE]
//	  - [my-cron, "* * * * *", 1, !present ]
//
// Conditions are for what is not equality. They are expressions in the Common Expression
// Language (CEL), with its extensions for strings, lists, sets, math, encoders, bindings and
// optional values, and with one function more: object.merge(patch) is the object, changed as
// by a merge patch. The variable answer is the body of the answer, and each earlier answer
// is a variable of its name:
//
//	steps:
//	- get: {apiVersion: stable.example.com/v1, kind: CronTab, name: my-cron}
//	  that:
//	  - answer.metadata.resourceVersion != created.metadata.resourceVersion
//	  - answer.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')
//
// # Webhooks
//
// A webhook is a server, behind a service that is there for the cluster alone, over TLS.
// It gets a review (a ConversionReview, an AdmissionReview) and answers with one, of the
// same kind and version, whose response stands in the scenario. It is fixed, or it has
// expressions in it, marked !cel, of the request that came:
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
//   - name: what steps call it.
//   - service: {namespace, name, port, path}: the reference that reaches it. The port is
//     443, and the path any, if they are left out. Webhooks may share a service.
//   - response: the response of the review. It gets the uid of the request, unless it says
//     something else about it.
//   - body: what is sent, in place of a whole review: a value, or a text that is sent as it
//     is.
//   - code: the HTTP status, 200 if left out.
//   - headers: {NAME: VALUE}: headers of the answer, in place of those that it has.
//   - silent: close or hang: it does not answer: it closes the connection, or waits until
//     its caller gives up, after the timeoutSeconds of an admission webhook, or the 30
//     seconds that a conversion has.
//
// One of response, body, and silent has to be there. A webhook step has name and, of the
// others, what stands from then on in place of all that stood before.
//
// Under the name of a webhook, !from and conditions find what a configuration needs:
// caBundle, by which its certificate is verified, and url, for a configuration without a
// service.
//
// The answer to a calls step is a list of the calls, in the order in which they came, each
// with its method, its path and query, its headers, and the review. An expression that fails
// fails the step in which the call was made.
//
// # Marks
//
// A YAML tag in the place of a value says what no value can say:
//
//   - !absent: the field is not there. In a manifest: it is not sent, which says so where
//     the runner would have added it.
//   - !present: the field is there, whatever its value.
//   - !only: the mapping has these fields and no others, as in spec: !only {replicas: 1}.
//   - !unordered: the list has these items and no others, in any order.
//   - !from: the value in the answer to an earlier step, as in
//     resourceVersion: !from created.metadata.resourceVersion. The first word is the name of
//     the answer, the others are fields, or indices from 0 of a list.
//   - !cel: what an expression makes of the request of the review that a webhook got.
//
// Inside of braces YAML wants a space after a tag: {status: !absent }.
//
// Manifests, bodies and options take !absent and !from, references (apiVersion, kind, ...)
// take !from, responses and bodies of webhooks !absent and !cel, and expectations all but !cel.
//
// # Which files are scenarios
//
// A file that is named is read, whatever it is called. A folder stands for every file in
// and below it that ends in .yaml or .yml, without exception: nothing is skipped in
// silence. A YAML file with "scenario" or "steps" at the top of a document is a scenario
// file, and any other has to be one that a scenario of the same run takes manifests from,
// or it is a mistake.
//
// # The log
//
// [Reporter] writes one timed line for each scenario that passed. One that failed shows
// the step's file and line, its number, what it did to which object, and the difference
// between the expected answer and the one that came, (-want +got). The last line is
// "N passed, N failed".
package scenarios
