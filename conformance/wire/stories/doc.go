// Package stories reads requests from text files, a line for each. The files beside this one are part
// of the package, one for each idea:
//
//	== pages of a list                                      # a story: these requests are made one after the other
//	let c = /api/v1/namespaces/$ns/configmaps               # $c stands for the rest of the line from here on
//	POST $c {"metadata":{"name":"a"}}
//	POST $c {"metadata":{"name":"b"}}
//	first: GET $c?limit=1                                   # a name, for those that refer to its answer
//	GET $c?limit=1&continue=${first:metadata.continue}
//
// A request is a method, a path, words, and a body, which begins with { or [, or with "body=", and goes
// to the end of the line. Lines below it that are indented are a body in YAML; it is sent as JSON.
// Without a name the line itself is the name, with a number if the story has it several times. Stories
// are played side by side, so each has a namespace of its own, $ns, which is made first. All know $id
// too, a word made of the story's name.
//
// The words:
//
//	json merge strategic apply  the type of a patch
//	apply-cbor cbor yaml        the type of the body; one in CBOR is made from what is written
//	as=table                    what the answer is to be: table, partial, partials, yaml, cbor, protobuf
//	from=get                    the body changes the object that "get" was answered with, as a merge patch does
//	user=jane groups=a,b        who asks, by impersonation
//	anonymous                   the request comes without the administrator's certificate
//	unordered                   the server mentions several mistakes in any order
//	until=200                   ask until the status is 200: the real server does some things later
//	wait=1s                     and then wait
//	Accept=text/html            a header, which begins with a capital letter
//
// A reference such as ${first:metadata.continue} stands for a value of the answer to an earlier request
// of the story.
//
// A line "needed" in a story makes it come before all others, as their definitions do. A line
// "unordered" says that the server mentions several mistakes, or resources of a group, in any order. A
// story with lines "with", each followed by indented names and values, is played once for each of them:
//
//	== life of $kind
//	with
//	  kind configmaps
//	  c    /api/v1/namespaces/$ns/configmaps
//	GET $c
package stories
