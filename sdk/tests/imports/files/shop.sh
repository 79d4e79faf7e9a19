#!/bin/bash
# Requests of the shop, as its developers keep them.
set -e
BASE="http://127.0.0.1:8000"

curl -s "$BASE/products?page=1&q=red+shoes" -H 'Accept: application/json'
curl "$BASE/products/17" --compressed | jq .name
curl -X POST $BASE/api/orders \
  -H 'Content-Type: application/json' -H "X-Trace: a;b" \
  --data-raw '{"product":7,"note":"it'\''s \"fine\"","tags":["a","ü"]}'
curl -G "$BASE/search" -d q=boots --data-urlencode "colour=dark blue & red"
curl -d 'name=Ann' -d 'city=New+York' "$BASE/profile"
curl --json '{"on":true}' $BASE/settings -X PATCH
curl $'http://127.0.0.1:8000/notes' --data-binary $'line 1\nline \u0032' -H 'Content-Type: text/plain'
curl -I $BASE/health
curl -X DELETE $BASE/orders/1
curl -X DELETE $BASE/orders/2
curl -X DELETE $BASE/orders/3
curl -F 'title=my photo' -F 'photo=@photo.txt;type=text/plain' $BASE/upload
curl -F title=one -F 'about={"by":"Ann"};type=application/json' -F title=two $BASE/albums
curl -d '{"q":"a=b", "n":5}' $BASE/search
curl -d 'item[][a]=1&item[][b]=2&item[][a]=3' $BASE/items
curl -u ann:wonder $BASE/me -A "shop-check/1"
