(* What documents claim, in the words of oraccl-check. *)
open Valid
module J = Yojson.Safe.Util

let time z =
  let rec go = function
    | [] -> "0s"
    | (digits, unit) :: units ->
        let whole, rest = Z.div_rem z (Z.pow (Z.of_int 10) digits) in
        if Z.sign whole = 0 then go units else
        let rest = if Z.sign rest = 0 then "" else let r = Z.to_string rest in "." ^ String.make (digits - String.length r) '0' ^ r in
        let rec trimmed n = if n > 0 && rest.[n - 1] = '0' then trimmed (n - 1) else String.sub rest 0 n in
        Z.to_string whole ^ trimmed (String.length rest) ^ unit in
  go [ (12, "s"); (9, "ms"); (6, "us"); (3, "ns"); (0, "ps") ]

let bytes z =
  match List.find_opt (fun (power, _) -> Z.divisible z (Z.pow (Z.of_int 2) power)) [ (40, " TiB"); (30, " GiB"); (20, " MiB"); (10, " KiB") ] with
  | Some (power, unit) -> Z.to_string (Z.shift_right z power) ^ unit
  | None -> Z.to_string z ^ " B"

let words problem =
  let t = field "topology" problem and c = field "collective" problem in
  let root way = Printf.sprintf "%s %s rank %s" (word "kind" c) way (Z.to_string (optional "root" c Z.zero num)) in
  let collective = match word "kind" c with
    | "custom" -> optional "name" c "custom" (fun n -> "custom " ^ J.to_string n)
    | "broadcast" | "scatter" -> root "from"
    | "gather" | "reduce" -> root "to"
    | kind -> kind in
  let cut = match J.member "chunks" problem with
    | `Null -> ""
    | `Int 1 | `List [ _ ] -> " in 1 chunk"
    | `List l -> Printf.sprintf " in %d chunks" (List.length l)
    | n -> Printf.sprintf " in %s chunks" (Z.to_string (num n)) in
  Printf.sprintf "%s of %s%s, %d ranks, on %s, %s%s" collective (bytes (number "size_bytes" problem)) cut
    (optional "group" c (small (number "ranks" t)) (fun g -> List.length (J.to_list g))) (word "name" t) (word "cost" problem)
    (if List.exists (fun z -> Z.sign z > 0) (optional "release_ps" problem [] nums) then ", with late ranks" else "")

let bound_words d =
  let problem = field "problem" d and w = field "witness" d and bound = time (number "bound_ps" d) in
  let none = "no schedule of " ^ words problem in
  let rounds () = Printf.sprintf "%s has %s rounds or fewer" none (Z.to_string (number "horizon" w)) in
  if word "kind" w = "lrat" && Z.sign (optional "steps" w Z.zero num) > 0 then Printf.sprintf "%s in %s steps or fewer" (rounds ()) (Z.to_string (number "steps" w))
  else if word "kind" w = "lrat" && Z.sign (optional "epoch_ps" w Z.zero num) = 0 then Printf.sprintf "%s, so that none ends before %s" (rounds ()) bound
  else Printf.sprintf "%s%s ends before %s" none (if has "chunks" problem then "" else ", however it is cut into chunks,") bound

(* A name that can pass for nothing else. *)
let quoted name =
  let usual = function 'a' .. 'z' | 'A' .. 'Z' | '0' .. '9' -> true | c -> String.contains "._-+=,@%#:/~" c in
  if name <> "" && String.for_all usual name then name else Printf.sprintf "%S" name
