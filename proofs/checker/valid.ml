(* Reads the fields of documents, and refuses what package model refuses of what the theorems take for granted. *)
module J = Yojson.Safe.Util

exception Not_served of string

let no why = raise (Not_served why)

(* Integers are of any size. *)
let num = function
  | `Int i -> Z.of_int i
  | `Intlit s -> Z.of_string s
  | _ -> failwith "want a number"

let field name d = match J.member name d with `Null -> failwith (name ^ ": missing") | v -> v
let has name d = J.member name d <> `Null
let number name d = num (field name d)
let optional name d default read = match J.member name d with `Null -> default | v -> read v
let nums v = List.map num (J.to_list v)
let small z = Z.to_int z
(* What a document says beyond what is known here may change what it means. *)
let only known d =
  let keys = List.map fst (J.to_assoc d) in
  List.iter (fun key -> if not (List.mem key known) then failwith (key ^ ": no such key")) keys;
  if List.length (List.sort_uniq compare keys) < List.length keys then failwith "a key is there twice"
let upto n = List.init n Z.of_int

let word name d = J.to_string (field name d)
let kind_of problem = word "kind" (field "collective" problem)
let switches problem = optional "switches" (field "topology" problem) [] J.to_list
let copies s = optional "copies" s false J.to_bool
let adds s = has "reduces" s
let is_rounds cost = List.mem cost [ "rounds"; "link-rounds" ]

let want ok place what = if not ok then failwith (place ^ ": want " ^ what)
let exists n z = Z.sign z >= 0 && Z.lt z n
let distinct l = List.length (List.sort_uniq compare l) = List.length l
let rec ascending = function a :: (b :: _ as l) -> Z.lt a b && ascending l | _ -> true
let one_of place words w = want (List.mem w words) place (String.concat ", " words)
let named place s = want (String.for_all (fun c -> c >= ' ' && c <> '\127') s) place "characters that can be printed"
let operators = [ "sum"; "prod"; "min"; "max" ]

(* What a rank reads at a switch has its own in it, and all of it at once. *)
let valid_reader ranks links v =
  let side own other = List.filter (fun l -> Z.equal (number own l) v && exists ranks (number other l)) links in
  let up = side "dst" "src" and down = side "src" "dst" in
  let same f l = List.length (List.sort_uniq Z.compare (List.map (number f) l)) <= 1 in
  let rates at l = List.sort compare (List.map (fun k -> (number at k, number "bandwidth_bytes_per_s" k)) l) in
  want (same "alpha_ps" up && same "alpha_ps" down) "switches" "one latency from all ranks, and one to all, where they read sums";
  want (distinct (List.map (number "src") up) && rates "src" up = rates "dst" down) "switches"
    "a link each way of equal bandwidth at each rank, where they read sums"

let valid_topology t =
  only [ "name"; "ranks"; "switches"; "links"; "ports"; "groups"; "notes" ] t;
  named "name" (word "name" t);
  let ranks = number "ranks" t and all = optional "switches" t [] J.to_list and links = J.to_list (field "links" t) in
  want (Z.sign ranks > 0 && Z.leq ranks (Z.of_int 1_000_000)) "ranks" "1 or more";
  let nodes = Z.add ranks (Z.of_int (List.length all)) in
  let valid_link l =
    only [ "src"; "dst"; "alpha_ps"; "bandwidth_bytes_per_s" ] l;
    let a = number "src" l and b = number "dst" l in
    want (exists nodes a && exists nodes b && not (Z.equal a b)) "links" "two nodes that exist";
    want (Z.sign (number "alpha_ps" l) >= 0 && Z.sign (number "bandwidth_bytes_per_s" l) > 0) "links" "a latency, and more than no bandwidth" in
  List.iter valid_link links;
  let valid_switch i s =
    only [ "name"; "copies"; "reduces"; "sums"; "operations"; "types" ] s;
    want (adds s || not (has "sums" s || has "operations" s || has "types" s)) "switches" "none of it where a switch does not add";
    let ops = optional "operations" s operators (fun v -> List.map J.to_string (J.to_list v)) in
    List.iter (one_of "operations" operators) ops;
    List.iter (fun (op, _) -> one_of "types" ops op) (optional "types" s [] J.to_assoc);
    want (optional "sums" s true (fun z -> Z.sign (num z) > 0)) "sums" "1 or more";
    if adds s then one_of "reduces" [ "read"; "turn" ] (word "reduces" s);
    if adds s && word "reduces" s = "read" then valid_reader ranks links (Z.add ranks (Z.of_int i)) in
  List.iteri valid_switch all;
  let ends = Array.of_list (List.map (fun l -> (number "src" l, number "dst" l)) links) in
  let valid_port p =
    only [ "name"; "links"; "capacity" ] p;
    let of_it = nums (field "links" p) in
    want (Z.sign (number "capacity" p) > 0 && of_it <> [] && distinct of_it && List.for_all (exists (Z.of_int (Array.length ends))) of_it)
      "ports" "a capacity, and links that exist, each once";
    let one f = List.length (List.sort_uniq Z.compare (List.map (fun i -> f ends.(small i)) of_it)) = 1 in
    want (one fst || one snd) "ports" "links that all leave or all enter one node" in
  List.iter valid_port (optional "ports" t [] J.to_list)

let valid_collective ranks c =
  only [ "kind"; "name"; "group"; "root"; "op"; "dtype"; "chunks"; "sizes"; "pre"; "post" ] c;
  named "name" (optional "name" c "" J.to_string);
  let members = optional "group" c (upto (small ranks)) nums and kind = word "kind" c in
  want (members <> [] && distinct members && List.for_all (exists ranks) members) "group" "ranks that exist, each once";
  let root = optional "root" c Z.zero num in
  want (if List.mem kind [ "broadcast"; "scatter"; "gather"; "reduce" ] then List.mem root members else Z.sign root = 0) "root" "a rank of the group, where there is one";
  one_of "op" operators (optional "op" c "sum" J.to_string);
  let own = List.filter (fun key -> has key c) [ "name"; "chunks"; "sizes"; "pre"; "post" ] in
  want (kind = "custom" || own = []) (String.concat ", " own) "it with custom only";
  if kind = "custom" then begin
    let slot d =
      let contributions = nums (field "contributions" d) in
      want (contributions <> [] && List.for_all (fun r -> List.mem r members) (number "rank" d :: contributions)) "pre, post" "ranks of the group";
      want (exists (number "chunks" c) (number "chunk" d)) "pre, post" "chunks that exist";
      (number "rank" d, number "chunk" d) in
    let slots name = List.map slot (optional name c [] J.to_list) in
    want (distinct (slots "pre") && distinct (slots "post") && slots "post" <> []) "pre, post" "each slot once, and one or more at the end"
  end

let shards problem =
  let n = optional "group" (field "collective" problem) (small (number "ranks" (field "topology" problem))) (fun g -> List.length (J.to_list g)) in
  match kind_of problem with
  | "alltoall" -> n * n
  | "allgather" | "reducescatter" | "scatter" | "gather" -> n
  | _ -> 1

let valid_problem problem =
  only [ "topology"; "collective"; "size_bytes"; "chunks"; "cost"; "release_ps" ] problem;
  let ranks = number "ranks" (field "topology" problem) and c = field "collective" problem in
  valid_topology (field "topology" problem);
  valid_collective ranks c;
  one_of "cost" [ "blocking"; "pipelined"; "rounds"; "link-rounds" ] (word "cost" problem);
  let release = optional "release_ps" problem [] nums in
  want (List.for_all (fun t -> Z.sign t >= 0) release && (release = [] || List.length release = small ranks)) "release_ps" "a time for each rank";
  let size = number "size_bytes" problem and m = shards problem in
  let space = if kind_of problem = "alltoall" then Z.mul size (Z.of_int (int_of_float (sqrt (float m)))) else size in
  want (Z.sign size > 0 && Z.geq space (Z.of_int m)) "size_bytes" "a byte or more for each shard";
  match J.member "chunks" problem with
  | `Int n when kind_of problem = "custom" -> want (has "sizes" c || Z.equal (number "chunks" c) (Z.of_int n)) "chunks" "those of the collective"
  | `Int n ->
      want (n > 0 && Z.leq (Z.of_int n) space) "chunks" "1 or more, of a byte or more each";
      (* Where a shard begins a chunk does. *)
      let part i of_ = Z.div (Z.mul space (Z.of_int i)) (Z.of_int of_) in
      let begins = Hashtbl.create n in
      for k = 0 to n - 1 do Hashtbl.replace begins (part k n) () done;
      for s = 0 to m - 1 do want (Hashtbl.mem begins (part s m)) "chunks" "each within one shard" done
  | _ -> ()

let valid_schedule d =
  only [ "schema"; "problem"; "origin"; "form"; "transfers" ] d;
  let problem = field "problem" d and form = word "form" d and all = J.to_list (field "transfers" d) in
  want (has "chunks" problem) "chunks" "them in the problem of a schedule";
  one_of "form" [ (if is_rounds (word "cost" problem) then "rounds" else "timed"); "order" ] form;
  let t = field "topology" problem in
  let ranks = number "ranks" t and links = Z.of_int (List.length (J.to_list (field "links" t))) in
  let chunks = match J.member "chunks" problem with `List l -> Z.of_int (List.length l) | n -> num n in
  let last = Z.of_int (1024 + (16 * List.length all)) in
  let transfer x =
    only ([ "chunk"; "src"; "dst"; "links"; "op" ] @ match form with "timed" -> [ "start_ps"; "end_ps" ] | "rounds" -> [ "round" ] | _ -> [ "after" ]) x;
    let src = number "src" x and dst = number "dst" x and route = nums (field "links" x) in
    want (exists chunks (number "chunk" x)) "transfers" "a chunk that exists";
    want (exists ranks src && exists ranks dst && not (Z.equal src dst)) "transfers" "two ranks that exist";
    want (route <> [] && List.for_all (exists links) route) "transfers" "links that exist, one or more";
    one_of "op" [ "copy"; "reduce" ] (word "op" x);
    match form with
    | "timed" -> want (Z.sign (number "start_ps" x) >= 0 && Z.lt (number "start_ps" x) (number "end_ps" x)) "transfers" "an end after the start, and both after 0"
    | "rounds" -> want (exists last (number "round" x)) "transfers" "rounds that are not far apart"
    | _ -> () in
  List.iter transfer all

let valid_certificate d =
  only [ "schema"; "problem"; "bound_ps"; "witness" ] d;
  let problem = field "problem" d and w = field "witness" d in
  want (Z.sign (number "bound_ps" d) >= 0) "bound_ps" "0 or more";
  let t = field "topology" problem in
  let ranks = number "ranks" t in
  let nodes = Z.add ranks (Z.of_int (List.length (switches problem))) in
  let listed n key = if has key w then let l = nums (field key w) in want (ascending l && List.for_all (exists n) l) key "what exists, in ascending order" in
  listed nodes "nodes"; listed ranks "from"; listed ranks "to";
  List.iter (fun key -> if has key w then want (exists ranks (number key w)) key "a rank that exists") [ "rank"; "source"; "dest" ];
  let chunks = match J.member "chunks" problem with `List l -> Z.of_int (List.length l) | `Null -> Z.zero | n -> num n in
  if has "chunk" w then want (exists chunks (number "chunk" w) || Z.equal (number "chunk" w) Z.minus_one) "chunk" "one that exists, or -1 for none";
  want (word "cost" problem = "rounds" || not (has "sends" w || has "receives" w)) "sends, receives" "them under rounds only";
  if has "shard" w then want (exists (Z.of_int (shards problem)) (number "shard" w)) "shard" "one that exists";
  List.iter (fun key -> if has key w then want (Z.equal (Z.of_int (List.length (J.to_list (field key w)))) nodes) key "a time for each node") [ "potential_ps"; "head_ps" ];
  if word "kind" w = "lrat" then begin
    let epoch = optional "epoch_ps" w Z.zero num and rounds = is_rounds (word "cost" problem) in
    want (has "chunks" problem) "chunks" "a number of them";
    want (Z.sign (number "horizon" w) > 0) "horizon" "1 or more";
    want (if rounds then Z.sign epoch = 0 else Z.sign epoch > 0) "epoch_ps" "0 where time is counted in rounds, else more";
    let steps = Z.sign (optional "steps" w Z.zero num) in
    want (steps = 0 || steps > 0 && rounds) "steps" "0 or, in rounds, more"
  end;
  let parts = List.map nums (optional "parts" w [] J.to_list) in
  want (List.for_all (fun l -> ascending l && List.for_all (exists nodes) l) parts && distinct (List.concat parts)) "parts" "nodes that exist, ascending, each in one";
  List.iter (fun g -> want (List.for_all (exists chunks) (nums (field "chunks" g))) "groups" "chunks that exist") (optional "groups" w [] J.to_list);
  if has "prices" w then begin
    let l = nums (field "prices" w) in
    want (List.length l = List.length (J.to_list (field "links" t)) && List.for_all (fun p -> Z.sign p >= 0) l) "prices" "a price for each link"
  end
