package syntax

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/fakecluster/fakecluster/internal/description"
	"github.com/fakecluster/fakecluster/internal/description/living"
)

// SchemaURL is where the JSON schema of scenario files is published. An editor reads it from the
// first line of a file: # yaml-language-server: $schema=URL
const SchemaURL = "https://raw.githubusercontent.com/fakecluster/fakecluster/main/scenarios/scenario.schema.json"

// fieldDoc documents a field of a scenario file: its name, the notation of its value, and its
// meaning. The schema is made from the tables of fields; tests compare them with the parser.
type fieldDoc struct{ name, notation, doc string }

var scenarioFields = []fieldDoc{
	{"scenario", "TEXT", "Its name, a sentence that states the rule that the scenario proves."},
	{"cases", "CASES", "A table: the scenario is played once for each case."},
	{"cluster", "CLUSTER", "Options of its cluster."},
	{"workloads", "WORKLOADS", "Runs controllers, a scheduler, and nodes with their pods in the cluster, as described; {} for the defaults."},
	{"webhooks", "WEBHOOKS", "Webhooks that the cluster can reach."},
	{"setup", "SETUP", "Manifests and kustomizations that are created before the first step, shared setups, and steps."},
	{"steps", "STEPS", "The steps, in order."},
}

// clusterFields returns the fields of "cluster:".
func clusterFields() []fieldDoc {
	fields := []fieldDoc{
		{"alone", "FLAG", "The scenario concerns everything in a cluster, such as its initial objects."},
		{"fakecluster", "FLAG", "The scenario tests behavior of fakecluster alone, such as its response where a real server calls a kubelet."},
	}
	for _, o := range description.Options() {
		if o.Scenario == "" {
			continue
		}
		notation := "TEXTS"
		if _, isFlag := o.Value(&description.Cluster{}).(*bool); isFlag {
			notation = "FLAG"
		}
		fields = append(fields, fieldDoc{o.Scenario, notation, strings.ToUpper(o.Doc[:1]) + o.Doc[1:] + "."})
	}
	return fields
}

var workloadFields = []fieldDoc{
	{"nodes", "NODES", "The number of nodes, or Node objects; 3 if left out."},
	{"controlPlane", "FLAG", "Adds a node of the control plane with its static pods, CoreDNS and kube-proxy, as kind has them."},
	{"behaviors", "BEHAVIORS", "What containers do; the first one that selects a container applies."},
	{"programs", "PROGRAMS", "Programs of the machine that run the containers of images, in real time."},
	{"provisioners", "TEXTS", "Provisioners of StorageClasses whose claims get volumes, besides fakecluster.io/volume and rancher.io/local-path; * for all."},
	{"controllers", "TEXTS", "The controllers that run, as in the flag --controllers of kube-controller-manager; all if left out."},
	{"scheduler", "SCHEDULER", "false for none, or a KubeSchedulerConfiguration."},
}

var webhookFields = []fieldDoc{
	{"name", "TEXT", "The name of the webhook in steps."},
	{"service", "SERVICE", "The reference that reaches it."},
	{"response", "VALUE", "The response of the review."},
	{"body", "VALUE", "What the webhook sends instead of a review."},
	{"code", "NUMBER", "The HTTP status, 200 if left out."},
	{"headers", "{NAME: VALUE}", "Headers of the answer."},
	{"silent", "close or hang", "The webhook does not answer."},
}

var serviceFields = []fieldDoc{
	{"namespace", "TEXT", "The namespace of the service."},
	{"name", "TEXT", "The name of the service."},
	{"port", "NUMBER", "443 if left out."},
	{"path", "TEXT", "The path that the webhook answers at; every path if left out."},
}

var expectationFields = []fieldDoc{
	{"name", "TEXT", "A few words about the step, shown if it fails."},
	{"expect", "VALUE", "Fields that the answer must have."},
	{"error", "ERROR", "The error that the server must answer."},
	{"code", "NUMBER", "The HTTP status, if it matters which status of success it is."},
	{"warnings", "LIST", "The texts of the warnings, in order; [] means that there are none."},
	{"table", "LIST", "What kubectl get prints."},
	{"wide", "LIST", "What kubectl get -o wide prints."},
	{"that", "TEXTS", "Conditions in CEL that must be true."},
	{"condition", "TEXT", "TYPE or TYPE=STATUS: a condition that the status of the object must have."},
}

type jsonSchema = map[string]any

// Schema returns the JSON schema of a document of a scenario file. Only [Load] checks what a
// schema cannot express, such as whether an expression is valid CEL.
func Schema() []byte {
	step := []fieldDoc{}
	for _, v := range verbs {
		step = append(step, fieldDoc{v.Name, v.argument.notation, v.doc})
	}
	for _, b := range RequestFields {
		if b != asUser { // "as" is a name or a user
			step = append(step, fieldDoc{b.Name, b.Notation, b.Doc})
		}
	}
	step = append(step, fieldDoc{"as", "AS", "A name for the answer, or who makes the request: " + asUser.Notation + "."})
	stepSchema := object(append(step, expectationFields...))
	for _, field := range stepSchema["properties"].(jsonSchema) {
		orParameter(field.(jsonSchema))
	}
	scenario := object(scenarioFields)
	scenario["required"] = []string{"scenario", "steps"}
	case_ := jsonSchema{"type": "object", "required": []string{"name"}, "properties": jsonSchema{"name": jsonSchema{"type": "string"}}}
	use := object([]fieldDoc{{"use", "TEXT", "The file of a shared setup."}, {"with", "MAPPING", "Its parameters."}})
	use["required"] = []string{"use"}
	kustomization := object([]fieldDoc{{"kustomize", "TEXT", "The folder of a kustomization, whose objects are created."}})
	kustomization["required"] = []string{"kustomize"}
	orParameter(use["properties"].(jsonSchema)["with"].(jsonSchema))
	data, err := json.MarshalIndent(jsonSchema{
		"$schema": "http://json-schema.org/draft-07/schema#",
		"$id":     SchemaURL,
		"title":   "A scenario of fakecluster, or a shared setup",
		"if":      jsonSchema{"required": []string{"scenario"}},
		"then":    jsonSchema{"$ref": "#/definitions/scenario"},
		"else": jsonSchema{
			"type": "object", "required": []string{"setup"}, "additionalProperties": false,
			"properties": jsonSchema{"parameters": value("MAPPING", "The default values of the parameters, or !present for required ones."), "setup": value("SETUP", "")},
		},
		"definitions": jsonSchema{
			"scenario":      scenario,
			"step":          stepSchema,
			"case":          case_,
			"cluster":       object(clusterFields()),
			"workloads":     object(workloadFields),
			"behavior":      jsonSchema{"type": "object", "additionalProperties": false, "properties": names(living.BehaviorFields())},
			"webhook":       object(webhookFields),
			"service":       object(serviceFields),
			"user":          schemaOfNotation(asUser.Notation),
			"use":           use,
			"kustomization": kustomization,
			"manifest": jsonSchema{"type": "object", "anyOf": []jsonSchema{
				{"required": []string{"apiVersion", "kind"}}, {"required": []string{"file"}},
			}},
			"error": jsonSchema{"type": []string{"object", "string"}, "additionalProperties": false, "properties": names(errorFields)},
		},
	}, "", "  ")
	if err != nil {
		panic(err) // maps, lists and texts can always be encoded
	}
	return append(data, '\n')
}

// orParameter allows a parameter of the case in place of a mapping or a list. An editor without support for its tag sees
// a string.
func orParameter(schema jsonSchema) {
	if t, ok := schema["type"].(string); ok && (t == "object" || t == "array") {
		schema["type"] = []string{t, "string"}
	}
	if ref, ok := schema["$ref"]; ok {
		delete(schema, "$ref")
		schema["anyOf"] = []jsonSchema{{"$ref": ref}, {"type": "string"}}
	}
}

func object(fields []fieldDoc) jsonSchema {
	properties := jsonSchema{}
	for _, f := range fields {
		properties[f.name] = value(f.notation, f.doc)
	}
	return jsonSchema{"type": "object", "additionalProperties": false, "properties": properties}
}

func names(allowed []string) jsonSchema {
	properties := jsonSchema{}
	for _, name := range allowed {
		properties[name] = jsonSchema{}
	}
	return properties
}

func value(notation, doc string) jsonSchema {
	schema := schemaOfNotation(notation)
	if doc != "" {
		schema["description"] = doc
	}
	return schema
}

// braces matches a mapping in a notation.
var braces = regexp.MustCompile(`\{([^}]*)\}`)

// schemaOfNotation returns the schema for a notation. It also allows a string where a mark can stand, because that is
// what an editor without support for the tag sees.
func schemaOfNotation(notation string) jsonSchema {
	switch notation {
	case "TEXT", "NAME", "DURATION":
		return jsonSchema{"type": "string"}
	case "TEXTS":
		return jsonSchema{"type": "array", "items": jsonSchema{"type": "string"}}
	case "NUMBER":
		return jsonSchema{"type": []string{"integer", "string"}}
	case "FLAG":
		return jsonSchema{"type": "boolean"}
	case "VALUE":
		return jsonSchema{}
	case "MAPPING":
		return jsonSchema{"type": "object"}
	case "LIST":
		return jsonSchema{"type": []string{"array", "string"}}
	case "MANIFEST", "ERROR", "CLUSTER", "WORKLOADS", "SERVICE":
		return jsonSchema{"$ref": "#/definitions/" + strings.ToLower(notation)}
	case "BEHAVIORS", "CASES", "WEBHOOKS", "STEPS":
		return jsonSchema{"type": "array", "items": jsonSchema{"$ref": "#/definitions/" + strings.ToLower(strings.TrimSuffix(notation, "S"))}}
	case "NODES":
		return jsonSchema{"type": []string{"integer", "array"}, "items": jsonSchema{"type": "object"}}
	case "PROGRAMS":
		return jsonSchema{"type": "array", "items": jsonSchema{
			"type": "object", "required": []string{"image", "path"}, "additionalProperties": false, "properties": jsonSchema{
				"image": value("TEXT", "An image, with or without a tag, or a pattern."),
				"path":  value("TEXT", "The program; a relative path begins at the folder of the file."),
				"args":  value("TEXTS", "Arguments before those of the container."),
			},
		}}
	case "SCHEDULER":
		return jsonSchema{"type": []string{"boolean", "object"}}
	case "SETUP":
		return jsonSchema{"type": "array", "items": jsonSchema{"anyOf": []jsonSchema{
			{"$ref": "#/definitions/manifest"}, {"$ref": "#/definitions/use"}, {"$ref": "#/definitions/kustomization"}, {"$ref": "#/definitions/step"},
		}}}
	case "AS":
		return jsonSchema{"anyOf": []jsonSchema{{"type": "string"}, {"$ref": "#/definitions/user"}}}
	case "{NAME: VALUE}":
		return jsonSchema{"type": "object", "additionalProperties": jsonSchema{"type": "string"}}
	case "{}":
		return jsonSchema{"type": "object", "additionalProperties": false}
	case "{name, response, ...}":
		return object(append([]fieldDoc{webhookFields[0]}, webhookFields[2:]...))
	case "{fieldManager, force, ...}":
		return jsonSchema{"type": "object", "additionalProperties": false, "properties": names(QueryOptions)}
	}
	matches := braces.FindAllStringSubmatch(notation, -1)
	if len(matches) == 0 { // json, merge or strategic
		return jsonSchema{"enum": strings.Split(strings.ReplaceAll(notation, " or ", ", "), ", ")}
	}
	var options []string
	for _, m := range matches {
		options = append(options, strings.Split(m[1], ", ")...)
	}
	return jsonSchema{"type": "object", "additionalProperties": false, "properties": names(options)}
}

// StepDoc documents one kind of step.
type StepDoc struct {
	// Name is the field that selects the kind of step, and Argument the notation of its value.
	Name, Argument string
	// Doc describes the step. It completes a sentence that begins with Name.
	Doc string
}

// StepDocs returns all kinds of steps, for manuals.
func StepDocs() []StepDoc {
	steps := make([]StepDoc, len(verbs))
	for i, v := range verbs {
		steps[i] = StepDoc{v.Name, v.argument.notation, v.doc}
	}
	return steps
}
