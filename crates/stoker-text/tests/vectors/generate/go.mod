module stoker.io/text-vectors

go 1.26

require (
	github.com/bmatcuk/doublestar/v4 v4.10.4
	github.com/distribution/reference v0.6.0
	github.com/tidwall/sjson v1.2.5
)

require (
	github.com/opencontainers/go-digest v1.0.0 // indirect
	github.com/tidwall/gjson v1.14.2 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.2.0 // indirect
)
