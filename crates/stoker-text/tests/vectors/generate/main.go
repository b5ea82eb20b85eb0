// Makes the second set of golden vectors with the Go originals: `go run . && ls ../*-more.json`.
// The first set (doublestar.json, go-template.json, sjson.json) is older and stays as it is.
package main

import (
	"bufio"
	"bytes"
	_ "crypto/sha256"
	_ "crypto/sha512"
	"encoding/json"
	"math/rand"
	"os"
	"strings"
	"text/template"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/distribution/reference"
	"github.com/tidwall/sjson"
)

// Ctx is the context that all template vectors are rendered with.
type Ctx struct {
	GatewayName, PodName string
	PodOrdinal           int
	Namespace, Ref       string
	Commit, CRName       string
	Labels, Vars         map[string]string
	List, Empty          []string
}

func main() {
	write("../go-template-more.json", templates())
	write("../doublestar-more.json", globs())
	write("../sjson-more.json", edits())
	write("../image.json", images())
}

func write(name string, value any) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	check(encoder.Encode(value))
	check(os.WriteFile(name, buffer.Bytes(), 0o644))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func lines(name string) []string {
	file, err := os.Open(name)
	check(err)
	defer file.Close()
	var found []string
	scanner := bufio.NewScanner(file)
	for scanner.Scan() {
		var line string
		check(json.Unmarshal(scanner.Bytes(), &line))
		found = append(found, line)
	}
	return found
}

func templates() []map[string]string {
	context := &Ctx{
		"gw-1", "gw-1-2", 2, "ns", "main", "0123456789abcdef0123456789abcdef01234567", "cr",
		map[string]string{"app.kubernetes.io/name": "ign", "site": "north"},
		map[string]string{"region": "us", "uni": "héé"},
		[]string{"a", "b", "c"}, nil,
	}
	var vectors []map[string]string
	for _, text := range lines("templates.jsonl") {
		vector := map[string]string{"t": text}
		parsed, err := template.New("").Option("missingkey=error").Parse(text)
		var out strings.Builder
		if err == nil {
			err = parsed.Execute(&out, context)
		}
		if err == nil {
			vector["ok"] = out.String()
		} else {
			vector["err"] = err.Error()
		}
		vectors = append(vectors, vector)
	}
	return vectors
}

func globs() map[string]any {
	random := rand.New(rand.NewSource(7))
	pieces := []string{"a", "b", "/", "/", "*", "**", "**/", "/**", "?", "[ab]", "[^a]", "{a,b}", "{,a/}", "{a/**,b}", ".", "é", "\\*", "[a-", "]", "}"}
	segments := []string{"a", "b", "ab", "aa", "é", ".a", "*", "ba"}
	pick := func(from []string, most int) []string {
		var chosen []string
		for n := 1 + random.Intn(most); n > 0; n-- {
			chosen = append(chosen, from[random.Intn(len(from))])
		}
		return chosen
	}
	paths := []string{}
	for len(paths) < 60 {
		paths = append(paths, strings.Join(pick(segments, 4), "/"))
	}
	patterns := []map[string]any{}
	for len(patterns) < 500 {
		pattern := strings.Join(pick(pieces, 6), "")
		matches := []int{}
		for at, path := range paths {
			if matched, _ := doublestar.Match(pattern, path); matched {
				matches = append(matches, at)
			}
		}
		patterns = append(patterns, map[string]any{"pattern": pattern, "valid": doublestar.ValidatePattern(pattern), "match": matches})
	}
	return map[string]any{"paths": paths, "patterns": patterns}
}

func edits() []map[string]any {
	var vectors []map[string]any
	for _, line := range lines("edits.jsonl") {
		parts := strings.SplitN(line, "\x00", 3)
		vector := map[string]any{"in": parts[0], "path": parts[1], "raw": parts[2]}
		out, err := sjson.SetRaw(parts[0], parts[1], parts[2])
		if err == nil {
			vector["out"] = out
		} else {
			vector["err"] = err.Error()
		}
		vectors = append(vectors, vector)
	}
	return vectors
}

func images() []map[string]string {
	var vectors []map[string]string
	for _, text := range lines("images.jsonl") {
		vector := map[string]string{"in": text}
		named, err := reference.ParseNormalizedNamed(text)
		if err != nil {
			vector["err"] = err.Error()
			vectors = append(vectors, vector)
			continue
		}
		vector["registry"], vector["path"] = reference.Domain(named), reference.Path(named)
		if tagged, ok := named.(reference.Tagged); ok {
			vector["tag"] = tagged.Tag()
		}
		if digested, ok := named.(reference.Digested); ok {
			vector["digest"] = digested.Digest().String()
		}
		vectors = append(vectors, vector)
	}
	return vectors
}
