(* Reads schedules and certificates and asks the proved functions about them. What is here has
   no proof: that a document is the job, the schedule and the witness that it is taken for.

     oraccl-check-proved [--documents] FILE|DIRECTORY...

   prints for each document the line of oraccl-check: "proved", "REFUTED" (a schedule is not right; the
   rule as it is proved does not yield the bound of a certificate), "unknown" (and below why it is not
   served), or "ERROR" (it cannot be read), and what it claims. Of a directory it checks all documents, at any depth;
   what a manifest claims is for oraccl-check. The exit status is that of oraccl-check: 0 if all are proved,
   1 if some are refuted, 2 if some cannot be read, 3 if some are not served or, without --documents, if
   a directory has no manifest; of these the first of 2, 1, 3, 0. *)
module Integers = Z
module Lists = List
open Proved
module Z = Integers
module List = Lists
module J = Yojson.Safe.Util

open Valid
open Words

(* The vector in which contribution c occurs as often as the list has it. *)
let vector ranks contributions =
  List.init ranks (fun c -> Z.of_int (List.length (List.filter (fun x -> Z.equal x (Z.of_int c)) contributions)))

(* Pre- and postcondition, as the collective's kind means them: a shard is a part of the space,
   and chunk k lies in one. *)
let conditions problem ranks chunks =
  let c = field "collective" problem in
  let members = optional "group" c (upto ranks) nums in
  let root () = optional "root" c Z.zero num in
  let n = List.length members in
  let member i = List.nth members i in
  let all = vector ranks members and only r = vector ranks [ r ] in
  (* Chunks are as equal as whole bytes allow, and so are shards: of which shard chunk k's first
     byte is. *)
  let shard shards k =
    let space = if J.to_string (field "kind" c) = "alltoall" then Z.mul (number "size_bytes" problem) (Z.of_int n) else number "size_bytes" problem in
    let part i of_ = Z.div (Z.mul space (Z.of_int i)) (Z.of_int of_) in
    let first = part k chunks in
    let rec go s = if s + 1 < shards && Z.leq (part (s + 1) shards) first then go (s + 1) else s in
    go 0
  in
  let each f = List.concat (List.init chunks (fun k -> List.map (fun (r, w) -> ((r, Z.of_int k), w)) (f k))) in
  let owner k = member (shard n k) in
  let pair k = let s = shard (n * n) k in (member (s / n), member (s mod n)) in
  let everywhere w = List.map (fun r -> (r, w)) members in
  let own = List.map (fun r -> (r, only r)) members in
  match J.to_string (field "kind" c) with
  | "broadcast" -> (each (fun _ -> [ (root (), only (root ())) ]), each (fun _ -> everywhere (only (root ()))))
  | "scatter" -> (each (fun _ -> [ (root (), only (root ())) ]), each (fun k -> [ (owner k, only (root ())) ]))
  | "gather" -> (each (fun k -> [ (owner k, only (owner k)) ]), each (fun k -> [ (root (), only (owner k)) ]))
  | "allgather" -> (each (fun k -> [ (owner k, only (owner k)) ]), each (fun k -> everywhere (only (owner k))))
  | "alltoall" -> (each (fun k -> [ (fst (pair k), only (fst (pair k))) ]), each (fun k -> [ (snd (pair k), only (fst (pair k))) ]))
  | "reduce" -> (each (fun _ -> own), each (fun _ -> [ (root (), all) ]))
  | "reducescatter" -> (each (fun _ -> own), each (fun k -> [ (owner k, all) ]))
  | "allreduce" -> (each (fun _ -> own), each (fun _ -> everywhere all))
  | "custom" ->
      let read d = ((number "rank" d, number "chunk" d), vector ranks (nums (field "contributions" d))) in
      (List.map read (J.to_list (field "pre" c)), List.map read (J.to_list (field "post" c)))
  | kind -> failwith ("collective: " ^ kind)

(* A problem whose cut is free is the job of its shards. In rounds no function looks at the
   model of the job. *)
let is_free problem = not (has "chunks" problem)

(* What the switches do, the first of which has the number of the ranks. *)
let network problem =
  let c = field "collective" problem in
  let op = optional "op" c "sum" J.to_string and types = optional "dtype" c [] (fun t -> [ J.to_string t ]) in
  let strings v = List.map J.to_string (J.to_list v) in
  let does s =
    (match optional "operations" s [] strings with [] -> true | ops -> List.mem op ops)
    && (match types, optional op (optional "types" s (`Assoc []) (fun t -> t)) [] strings with
        | [ t ], (_ :: _ as known) -> List.mem t known
        | _ -> true) in
  let ranks = small (number "ranks" (field "topology" problem)) and all = Array.of_list (switches problem) in
  let each f v = let i = small v - ranks in i >= 0 && i < Array.length all && f all.(i) in
  let how s = optional "reduces" s "" J.to_string in
  { copying = each copies; turns = each (fun s -> how s = "turn"); reads = each (fun s -> how s = "read"); computes = each does;
    sums = List.filter (fun (_, most) -> Z.sign most > 0)
      (List.mapi (fun i s -> (Z.of_int (ranks + i), optional "sums" s Z.zero num)) (Array.to_list all)) }
let job_of ~rounds problem =
  let t = field "topology" problem in
  let ranks = small (number "ranks" t) in
  let model = match J.to_string (field "cost" problem) with
    | "blocking" when not rounds -> Blocking | "pipelined" when not rounds -> Pipelined
    | "rounds" | "link-rounds" when rounds -> Blocking
    | cost -> no ("cost " ^ cost) in
  let c = field "collective" problem in
  if has "sizes" c then no "a custom collective has shards of sizes of its own";
  let kind = J.to_string (field "kind" c) in
  let size = number "size_bytes" problem in
  let members = optional "group" c ranks (fun g -> List.length (J.to_list g)) in
  let chunks = match J.member "chunks" problem, kind with
    | `Int n, _ -> n
    | `Null, "custom" -> no "the cut of a custom collective is free"
    | `Null, ("allgather" | "reducescatter" | "scatter" | "gather") -> members
    | `Null, "alltoall" -> members * members
    | `Null, _ -> 1
    | _ -> no "chunks are listed" in
  let space = if kind = "alltoall" then Z.mul size (Z.of_int members) else size in
  let part i = Z.div (Z.mul space (Z.of_int i)) (Z.of_int chunks) in
  let pre, post = conditions problem ranks chunks in
  { nodes = Z.of_int ranks;
    links = List.map (fun l -> { src = number "src" l; dst = number "dst" l; latency = number "alpha_ps" l;
                                 bandwidth = number "bandwidth_bytes_per_s" l }) (J.to_list (field "links" t));
    ports = List.map (fun p -> (nums (field "links" p), number "capacity" p)) (optional "ports" t [] J.to_list);
    model; release = optional "release_ps" problem [] nums;
    sizes = List.init chunks (fun k -> Z.sub (part (k + 1)) (part k));
    idempotent = List.mem (optional "op" c "sum" J.to_string) [ "min"; "max" ]; pre; post }

(* Transfers in an order in which each comes after those that it waits for, which the function checks. *)
let listed transfers after =
  let n = Array.length transfers in
  let place = Array.make n (-1) and begun = Array.make n false and next = ref 0 and order = ref [] in
  let rec visit i =
    if i < 0 || i >= n then failwith "after: no such transfer";
    if place.(i) < 0 then begin
      if begun.(i) then failwith "after: a cycle";
      begun.(i) <- true;
      List.iter visit after.(i);
      place.(i) <- !next; incr next; order := i :: !order
    end in
  for i = 0 to n - 1 do visit i done;
  let order = List.rev !order in
  (List.map (fun i -> transfers.(i)) order, List.map (fun i -> List.map (fun k -> Z.of_int place.(k)) after.(i)) order)

let in_order d =
  let problem = field "problem" d in
  if List.exists (fun s -> copies s || adds s) (switches problem) then no "form order where a switch copies or adds";
  let rounds = is_rounds (word "cost" problem) in
  let j = job_of ~rounds problem in
  let transfer x =
    let op = match J.to_string (field "op" x) with "copy" -> Copy | "reduce" -> Reduce | op -> failwith op in
    { data = { tr = { what = number "chunk" x; src0 = number "src" x; dst0 = number "dst" x; op }; begins = Z.zero; ends = Z.one };
      route = nums (field "links" x) } in
  let all = J.to_list (field "transfers" d) in
  if List.length all > 10_000 then no "form order of more than 10000 transfers";
  let sch, deps = listed (Array.of_list (List.map transfer all)) (Array.of_list (List.map (fun x -> List.map small (nums (field "after" x))) all)) in
  if replay_order j (J.to_string (field "cost" problem) = "link-rounds") sch deps then Some "" else None

let schedule d =
  if J.to_string (field "form" d) = "order" then in_order d else
  let rounds = match J.to_string (field "form" d) with "timed" -> false | "rounds" -> true | form -> no ("form " ^ form) in
  let problem = field "problem" d in
  let j = job_of ~rounds problem in
  let transfer x =
    let op = match J.to_string (field "op" x) with "copy" -> Copy | "reduce" -> Reduce | op -> failwith op in
    { data = { tr = { what = number "chunk" x; src0 = number "src" x; dst0 = number "dst" x; op };
               begins = number (if rounds then "round" else "start_ps") x;
               ends = if rounds then Z.succ (number "round" x) else number "end_ps" x };
      route = nums (field "links" x) } in
  let by_link = J.to_string (field "cost" problem) = "link-rounds" in
  let sch = List.map transfer (J.to_list (field "transfers" d)) in
  let copying = List.map copies (switches problem) in
  let right =
    if List.exists adds (switches problem) then
      let net = network problem in
      if rounds then replay_adding_rounds j net by_link sch else replay_adding j net sch
    else if List.mem true copying then
      let at v = let s = small v - small j.nodes in s >= 0 && s < List.length copying && List.nth copying s in
      if rounds then replay_copying_rounds j at by_link sch else replay_copying j at sch
    else if rounds then replay_rounds j by_link sch else replay j sch in
  let ends () = if rounds then round_makespan j sch else makespan sch in
  if right then Some (", and ends after " ^ time (ends ())) else None

(* A refutation in the format LRAT: "id literals 0 hints 0", and "id d ids 0" for what is forgotten. *)
let refutation name =
  let parse line = match List.filter (( <> ) "") (String.split_on_char ' ' (String.trim line)) with
    | [] -> []
    | id :: "d" :: ids -> [ Delete (List.filter (fun i -> Z.sign i > 0) (List.map Z.of_string ids)) ]
    | id :: rest ->
        let rec upto0 = function [] -> failwith (name ^ ": want a 0") | x :: l when Z.equal x Z.zero -> ([], l) | x :: l -> let a, b = upto0 l in (x :: a, b) in
        let clause, rest = upto0 (List.map Z.of_string rest) in
        let hints, _ = upto0 rest in
        if List.exists (fun h -> Z.sign h <= 0) hints then no (name ^ ": hints below 1");
        [ Add (Z.of_string id, clause, hints) ] in
  let c = try open_in_bin name with Sys_error why -> no ("a proof that is not at hand: " ^ why) in
  let rec read lines = match input_line c with line -> read (parse line :: lines) | exception End_of_file -> List.concat (List.rev lines) in
  Fun.protect ~finally:(fun () -> close_in c) (fun () -> read [])

(* Whether every schedule lasts as long as a horizon without schedule says. The formula is made in memory. *)
let refuted_horizon file d w =
  let problem = field "problem" d in
  let cost = J.to_string (field "cost" problem) and kind = J.to_string (field "kind" (field "collective" problem)) in
  let rounds = is_rounds cost and allreduce = kind = "allreduce" in
  let proof = J.to_string (field "proof" w) in
  if Filename.basename proof <> proof then no "a proof that is not beside the certificate";
  let h = number "horizon" w and j = job_of ~rounds problem in
  let between = List.filter (fun l -> Z.geq l.src j.nodes && Z.geq l.dst j.nodes) j.links in
  if Z.gt h (Z.of_int 100_000) || small h * small j.nodes * (small j.nodes + List.length j.links) * List.length j.sizes * (if allreduce then small j.nodes else 1) > 1_000_000 || List.length between > 16 then no "a large formula";
  let lines = refutation (Filename.concat (Filename.dirname file) proof) in
  let bound = number "bound_ps" d in
  (* What 10.1 of the specification refuses. *)
  let epoch = optional "epoch_ps" w Z.zero num and steps = optional "steps" w Z.zero num in
  let backwards = kind = "reduce" || kind = "reducescatter" in
  let late = List.exists (fun t -> Z.sign t > 0) j.release in
  let refused = late && (rounds || backwards) || allreduce && (not rounds || Z.sign steps > 0) in
  positiveb j && not refused
  && if allreduce then allreduce_rule j (cost = "link-rounds") h lines bound else match rounds, backwards with
     | true, false -> rounds_rule j (cost = "link-rounds") h steps lines bound
     | true, true -> backwards_rounds_rule j (cost = "link-rounds") h steps lines bound
     | false, false -> epochs_rule j epoch h lines bound
     | false, true -> backwards_epochs_rule j epoch h lines bound

(* Prices and shares are named by the lowest of the links that are alike, and are those of each. Under
   rounds the ports of what a rank sends and receives come after the others. *)
let dual ~rounds problem j w bound =
  let j = if rounds then ported j (word "cost" problem = "link-rounds") else j in
  let instants = Array.of_list (nums (field "instants_ps" w)) in
  let read d = match nums d with [ what; at; price ] -> (small what, (instants.(small at), price)) | _ -> failwith "want three numbers" in
  let entries name d = List.map read (optional name d [] J.to_list) in
  let of_each count table = List.init count (fun i -> List.filter_map (fun (what, price) -> if what = i then Some price else None) table) in
  let listed = List.mapi (fun i x -> (Z.of_int i, x)) in
  let links = List.length j.links in
  let same = List.mapi (fun i l -> (l, List.map (fun (ls, _) -> List.exists (Z.equal (Z.of_int i)) ls) j.ports)) j.links in
  let lowest = List.map (fun x -> let rec go i = function [] -> i | y :: rest -> if x = y then i else go (i + 1) rest in go 0 same) same in
  let of_links table = let each = Array.of_list (of_each links table) in List.map (fun i -> each.(i)) lowest in
  let ports = List.length (optional "ports" (field "topology" problem) [] J.to_list) in
  let rank_port offset = List.map (fun (v, price) -> (ports + (2 * v) + offset, price)) in
  let prices = listed (of_links (entries "links" w)) in
  let of_ports = listed (of_each (List.length j.ports)
    (entries "ports" w @ rank_port 0 (entries "sends" w) @ rank_port 1 (entries "receives" w))) in
  let all () = List.init links (fun i -> price_of_link (sold j prices of_ports) (Z.of_int i)) in
  let demand d =
    { source = number "source" d; dest = number "dest" d; shares = if has "shares" d then of_links (entries "shares" d) else all () } in
  let group g = { group_chunks = nums (field "chunks" g); group_demands = List.map demand (J.to_list (field "demands" g)) } in
  let groups = J.to_list (field "groups" w) in
  let tables = entries "links" w :: List.concat_map (fun g -> List.map (entries "shares") (J.to_list (field "demands" g))) groups in
  let named = List.for_all (List.for_all (fun (i, _) -> List.nth lowest i = i)) tables in
  let groups = List.map group groups in
  let wanted g = List.for_all (fun k -> List.for_all (needed j k) g.group_demands) g.group_chunks in
  named && List.for_all wanted groups && dual_rule j prices of_ports groups bound

let certificate file d =
  let w = field "witness" d in
  let kind = J.to_string (field "kind" w) in
  if not (List.mem kind [ "lrat"; "cut"; "ingress"; "egress"; "volume"; "partition"; "distance"; "coverage"; "prices"; "lp-dual"; "doubling"; "broadcast"; "combine" ]) then no ("kind " ^ kind);
  if has "first" w then no "coverage at first entrances";
  let problem = field "problem" d in
  let adding = List.exists adds (switches problem) and copying = List.exists copies (switches problem) in
  let shared = adding || copying in
  if kind = "lrat" then not shared && refuted_horizon file d w else
  let free = is_free problem and cost = word "cost" problem and of_rounds = List.mem kind [ "doubling"; "broadcast"; "combine" ] in
  if of_rounds && cost <> "rounds" then false else
  let rounds = is_rounds cost in
  (* Where transfers may share a link, and under link-rounds, fewer rules are proved. *)
  let loosely = shared || cost = "link-rounds" in
  if loosely && not (List.mem kind [ "cut"; "ingress"; "egress"; "volume"; "partition"; "distance"; "coverage"; "prices"; "lp-dual" ] || List.mem kind [ "broadcast"; "combine" ] || kind = "doubling" && not adding) then
    no ("kind " ^ kind ^ if shared then " where a switch copies or adds" else " under link-rounds");
  let j = job_of ~rounds problem in
  let bound = number "bound_ps" d in
  let inside () =
    let nodes = nums (field "nodes" w) in
    fun v -> List.exists (Z.equal v) nodes in
  let all = upto (small j.nodes) in
  let from () = optional "from" w all nums and towards () = optional "to" w all nums in
  let net = network problem in
  let covered set from towards = (if free then free_coverage_rule else coverage_rule) j net set from towards bound in
  let entered set from towards = not free && entry_rule j net set from towards bound in
  let crossed set = rounds && not loosely && not free && crossing_rule j set bound in
  let between part = (if free then free_loose_partition_rule else loose_partition_rule) j net part bound in
  (* After a member of an allreduce has arrived, but not the first ones. *)
  let late_shown () =
    let c = field "collective" problem in
    J.to_string (field "kind" c) = "allreduce"
    && (let members = optional "group" c all nums in
        let arrival m = match List.nth_opt j.release (small m) with Some t -> t | None -> Z.zero in
        let times = List.sort_uniq Z.compare (List.map arrival members) in
        List.exists (fun d -> (if free then free_late_rule else late_rule) j d members net bound) (List.tl times)) in
  (* What leaves a set enters the others: of all, and of what each one needs. *)
  let left inside from towards =
    let outside v = not (inside v) in
    (if free then free_cut_rule else cut_rule) j inside bound
    || crossed inside
    || entered outside from towards || covered outside from towards || List.exists (fun v -> covered outside from [ v ]) towards in
  let shown = match kind with
    | "cut" -> left (inside ()) (from ()) (towards ())
    | "ingress" ->
        let v = number "rank" w in
        (if free then free_ingress_rule else ingress_rule) j v bound || crossed (fun u -> not (Z.equal u v)) || entered (Z.equal v) all [ v ] || covered (Z.equal v) all [ v ]
    | "egress" -> left (Z.equal (number "rank" w)) all all
    | "volume" when rounds && not loosely && not free && transfers_rule j bound -> true
    | "volume" when late_shown () -> true
    | "volume" ->
        not loosely && (if free then free_volume_rule else volume_rule) j bound
        || between (fun v -> if Z.lt v j.nodes then Z.succ v else Z.zero)
    | "partition" ->
        let parts = List.map nums (J.to_list (field "parts" w)) in
        let rec find i v = function [] -> 0 | nodes :: rest -> if List.exists (Z.equal v) nodes then i else find (i + 1) v rest in
        not (List.mem [] parts) && between (fun v -> Z.of_int (find 1 v parts))
    | "coverage" -> covered (inside ()) (from ()) (towards ())
    | "doubling" -> not copying && (if free then free_doubling_rule j (number "shard" w) else doubling_rule j (number "chunk" w)) (number "source" w) bound
    | "broadcast" -> (match shared, free with true, true -> free_sends_rule | true, false -> sends_rule | false, true -> free_spread_rule | false, false -> spread_rule) j (number "source" w) bound
    | "combine" -> (match shared, free with true, true -> free_receives_rule | true, false -> receives_rule | false, true -> free_combine_rule | false, false -> combine_rule) j (number "dest" w) bound
    | "lp-dual" -> if free then failwith "chunks: missing" else not adding && dual ~rounds problem j w bound
    | "prices" -> (if free then free_prices_rule else prices_rule) j (nums (field "prices" w)) bound
    | _ ->
        let full = nums (field "potential_ps" w) and head = optional "head_ps" w [] nums in
        let nodes = small j.nodes + List.length (switches problem) in
        (head <> [] || nodes = small j.nodes)
        && (if free then free_distance_rule else distance_rule) j full head (number (if free then "shard" else "chunk") w) (number "source" w) (number "dest" w) bound in
  (* Of schedules in rounds the rules for timed ones hold if each chunk has a byte. *)
  let served = positiveb j && (not rounds || of_rounds || free || full_sizes j) in
  served && shown

(* ---- Documents and directories ---- *)

(* A document's lines, and its exit status. *)
let document file =
  let line verdict text = Printf.printf "%s %s: %s\n%!" verdict (quoted file) text in
  let answer claim otherwise decide = match decide () with
    | Some more -> line "proved" (claim ^ more); 0
    | None -> line "REFUTED" claim; Printf.printf "  %s\n%!" otherwise; 1
    | exception Not_served why -> line "unknown" claim; Printf.printf "  not served: %s\n%!" why; 3 in
  try
    let d = Yojson.Safe.from_file file in
    match word "schema" d with
    | "oraccl/schedule/1" ->
        valid_problem (field "problem" d); valid_schedule d;
        let order = if word "form" d = "order" then ", whatever order the transfers run in" else "" in
        answer ("performs " ^ words (field "problem" d) ^ order) "it is not right; where, oraccl-check says" (fun () -> schedule d)
    | "oraccl/certificate/1" ->
        valid_problem (field "problem" d); valid_certificate d;
        answer (bound_words d) "the witness does not yield the bound by the rule that is proved" (fun () -> if certificate file d then Some "" else None)
    | "oraccl/timetable/1" | "oraccl/workload-bound/1" as schema -> line "unknown" schema; print_endline "  not served: workloads"; 3
    | "oraccl/problem/1" | "oraccl/topology/1" | "oraccl/collective/1" | "oraccl/workload/1" as schema -> line "not looked at" schema; 0
    | schema -> failwith ("schema " ^ schema ^ " is unknown")
  with
  | Failure why | Sys_error why | Invalid_argument why | Yojson.Json_error why | J.Type_error (why, _) -> line "ERROR" (String.escaped why); 2
  | Z.Overflow -> line "ERROR" "a number is too large"; 2

let worse a b = let rank s = match s with 0 -> 0 | 3 -> 1 | 1 -> 2 | _ -> 3 in if rank a < rank b then b else a

(* The documents of a directory, those of a name after those of the names before it, without what
   cannot be one; manifests are named alone. Whether some belong to no manifest is the second result. *)
let rec directory claimed dir =
  let at name = Filename.concat dir name in
  let claimed = claimed || Sys.file_exists (at "manifest.json") in
  let one (status, bare) name =
    if Sys.is_directory (at name) then let s, b = directory claimed (at name) in (worse status s, bare || b)
    else if name = "manifest.json" then begin
      Printf.printf "not looked at %s: what it claims, and the sums of its files, are for oraccl-check\n%!" (quoted (at name));
      (status, bare)
    end
    else if List.mem (Filename.extension name) [ ".md"; ".smt2"; ".mps"; ".svg"; ".txt"; ".cnf"; ".lrat" ] then (status, bare)
    else (worse status (document (at name)), bare || not claimed) in
  let names = Sys.readdir dir in
  Array.sort compare names;
  Array.fold_left one (0, false) names

let () =
  let documents, paths = List.partition (( = ) "--documents") (List.tl (Array.to_list Sys.argv)) in
  if paths = [] then begin prerr_endline "usage: oraccl-check-proved [--documents] FILE|DIRECTORY..."; exit 2 end;
  let check status path =
    if not (Sys.file_exists path && Sys.is_directory path) then worse status (document path)
    else begin
      let rec whole p = if String.length p > 1 && Filename.check_suffix p "/" then whole (Filename.chop_suffix p "/") else p in
      let found, bare = directory false (whole path) in
      if bare then Printf.printf "%s: nothing is claimed: there is no manifest.json\n%!" (quoted (whole path));
      worse (worse status found) (if bare && documents = [] then 3 else 0)
    end in
  exit (List.fold_left check 0 paths)
