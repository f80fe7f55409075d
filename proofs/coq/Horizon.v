(** SPEC 10 is sound: the formula that is made of a problem and a horizon follows from a right schedule
    within it, so that its refutation bounds all right schedules. Timed, over arcs of bundles, times are cut to
    epochs; in rounds only those that move something count, and steps are counted of them. Here are
    problems that do not reduce, by 10.2; Backwards has those that do, Allreduce 10.6. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Lrat.
From Oraccl Require Import Cut Round Check Timed Schedule Passing Bounds Replay InRounds RoundTime RoundRules Clauses Epochs.
Import ListNotations.
Open Scope Z_scope.

Lemma how_many_le {A B} (f : A -> bool) (g : B -> bool) (F : A -> B) l :
  (forall x, In x l -> f x = true -> g (F x) = true) -> (Clauses.how_many f l <= Clauses.how_many g (map F l))%nat.
Proof.
  induction l as [|a l IH]; intros H; [apply le_n|]. simpl map. rewrite !how_many_cons.
  specialize (IH (fun x Hx => H x (or_intror Hx))). specialize (H a (or_introl eq_refl)).
  destruct (f a); [rewrite H by auto|destruct (g (F a))]; lia.
Qed.
Lemma how_many_app {A} (f : A -> bool) a b : Clauses.how_many f (a ++ b) = (Clauses.how_many f a + Clauses.how_many f b)%nat.
Proof. unfold Clauses.how_many. rewrite filter_app, app_length. reflexivity. Qed.
Lemma how_many_flat {A B C} (f : B -> bool) (g : C -> bool) (F : A -> list B) (G : A -> list C) l :
  (forall x, In x l -> (Clauses.how_many f (F x) <= Clauses.how_many g (G x))%nat) ->
  (Clauses.how_many f (flat_map F l) <= Clauses.how_many g (flat_map G l))%nat.
Proof.
  induction l as [|a l IH]; intros H; [apply le_n|]. simpl. rewrite !how_many_app.
  specialize (IH (fun x Hx => H x (or_intror Hx))). specialize (H a (or_introl eq_refl)). lia.
Qed.
Lemma how_many_0 {A} (f : A -> bool) l : (forall x, In x l -> f x = false) -> Clauses.how_many f l = O.
Proof.
  induction l as [|a l IH]; intros H; [reflexivity|]. rewrite how_many_cons, (H a (or_introl eq_refl)).
  apply (IH (fun x Hx => H x (or_intror Hx))).
Qed.
Lemma how_many_pos {A} (f : A -> bool) l x : In x l -> f x = true -> (1 <= Clauses.how_many f l)%nat.
Proof. intros Hx Hf. unfold Clauses.how_many. assert (In x (filter f l)) as F by (apply filter_In; auto). destruct (filter f l); [destruct F|simpl; lia]. Qed.

Lemma nodup_right {A} (a b : list A) : NoDup (a ++ b) -> NoDup b.
Proof. induction a as [|x a IH]; simpl; intros H; [exact H|]. apply NoDup_cons_iff in H. apply IH, H. Qed.

Definition arc_dec (a b : arc) : {a = b} + {a <> b}.
Proof. decide equality; (apply (list_eq_dec Nat.eq_dec) || apply Nat.eq_dec). Defined.
Fixpoint place (a : arc) (l : list arc) : nat :=
  match l with [] => O | b :: l => if arc_dec a b then O else S (place a l) end.
Lemma place_spec a l d : In a l -> (place a l < length l)%nat /\ nth (place a l) l d = a.
Proof.
  induction l as [|b l IH]; simpl; [tauto|]. destruct (arc_dec a b) as [->|N]; [split; [lia|reflexivity]|].
  intros [->|Hin]; [congruence|]. destruct (IH Hin). split; [lia|assumption].
Qed.

Section Job.
Variable j : job.
Notation at_link := (at_link j).
Notation arrival := (arrival j).
Notation many := (length (links j)).

(** ** 10.3: bundles and arcs *)

Definition ports_of (i : nat) : list nat :=
  filter (fun p => existsb (Nat.eqb i) (fst (nth p (ports j) ([], O)))) (seq 0 (length (ports j))).
Definition link_dec (a b : link) : {a = b} + {a <> b}.
Proof. decide equality; (apply Z.eq_dec || apply Nat.eq_dec). Defined.
Definition alike_links (a b : nat) : bool :=
  if link_dec (at_link a) (at_link b) then if list_eq_dec Nat.eq_dec (ports_of a) (ports_of b) then true else false else false.
(** The lowest link stands for its bundle. *)
Definition bundle (i : nat) : nat := match find (alike_links i) (seq 0 many) with Some b => b | None => i end.
Definition bundles : list nat := filter (fun i => (bundle i =? i)%nat) (seq 0 many).

Lemma alike_links_spec a b : alike_links a b = true <-> at_link a = at_link b /\ ports_of a = ports_of b.
Proof. unfold alike_links. destruct (link_dec (at_link a) (at_link b)), (list_eq_dec Nat.eq_dec (ports_of a) (ports_of b)); intuition congruence. Qed.
Lemma bundle_alike i : (i < many)%nat -> alike_links i (bundle i) = true /\ (bundle i < many)%nat.
Proof.
  intros Hi. unfold bundle. destruct (find (alike_links i) (seq 0 many)) as [b|] eqn:E.
  - apply find_some in E. destruct E as [A B]. apply in_seq in A. split; [exact B|lia].
  - pose proof (find_none _ _ E i ltac:(apply in_seq; lia)) as N. exfalso.
    assert (alike_links i i = true) by (apply alike_links_spec; auto). congruence.
Qed.
Lemma bundle_link i : (i < many)%nat -> at_link (bundle i) = at_link i.
Proof. intros Hi. destruct (bundle_alike i Hi) as [A _]. apply alike_links_spec in A. symmetry. apply A. Qed.
Lemma bundle_ports i : (i < many)%nat -> ports_of (bundle i) = ports_of i.
Proof. intros Hi. destruct (bundle_alike i Hi) as [A _]. apply alike_links_spec in A. symmetry. apply A. Qed.
Lemma find_ext {A} (f g : A -> bool) l : (forall x, f x = g x) -> find f l = find g l.
Proof. intros E. induction l as [|a l IH]; simpl; auto. rewrite E, IH. reflexivity. Qed.
Lemma bundle_in i : (i < many)%nat -> In (bundle i) bundles.
Proof.
  intros Hi. destruct (bundle_alike i Hi) as [A B]. apply filter_In. split; [apply in_seq; lia|]. apply Nat.eqb_eq.
  unfold bundle at 1. rewrite (find_ext _ (alike_links i)).
  - unfold bundle. destruct (find (alike_links i) (seq 0 many)) as [b|] eqn:E; [reflexivity|].
    pose proof (find_none _ _ E i ltac:(apply in_seq; lia)) as N. assert (alike_links i i = true) by (apply alike_links_spec; auto). congruence.
  - intros x. apply alike_links_spec in A. destruct A as [A1 A2].
    apply eq_true_iff_eq. rewrite !alike_links_spec, A1, A2. reflexivity.
Qed.

(** Paths over bundles [bs] from a node to a rank, with switches between that are not in [seen]. *)
Fixpoint paths (bs : list nat) (fuel : nat) (node : nat) (seen : list nat) : list (nat * list nat) :=
  match fuel with
  | O => []
  | S fuel => flat_map (fun b => let w := Cut.dst (at_link b) in
      if (Cut.src (at_link b) =? node)%nat && negb (existsb (Nat.eqb w) seen)
      then if is_rank j w then [(w, [b])] else map (fun p => (fst p, b :: snd p)) (paths bs fuel w (w :: seen))
      else []) bs
  end.
Definition arcs_over : list arc :=
  let bs := bundles in
  flat_map (fun u => map (fun p => Arc u (fst p) (snd p)) (paths bs (S many) u [u])) (seq 0 (nodes j)).
Definition arcs_between : list arc :=
  flat_map (fun u => flat_map (fun v => if (u =? v)%nat then [] else [Arc u v []]) (seq 0 (nodes j))) (seq 0 (nodes j)).

(** A hop from a node over switches to rank [v]. *)
Fixpoint hop_over (node : nat) (seen : list nat) (h : list nat) (v : nat) : Prop :=
  match h with
  | [] => False
  | i :: h' => (i < many)%nat /\ Cut.src (at_link i) = node /\ ~ In (Cut.dst (at_link i)) seen /\
      match h' with
      | [] => is_rank j (Cut.dst (at_link i)) = true /\ Cut.dst (at_link i) = v
      | _ => is_rank j (Cut.dst (at_link i)) = false /\ hop_over (Cut.dst (at_link i)) (Cut.dst (at_link i) :: seen) h' v
      end
  end.
Lemma paths_complete h v : forall fuel node seen, hop_over node seen h v -> (length h <= fuel)%nat ->
  In (v, map bundle h) (paths bundles fuel node seen).
Proof.
  induction h as [|i h IH]; intros fuel node seen Hh Hl; [destruct Hh|]. destruct Hh as [Hi [Hs [Hn Hh]]].
  destruct fuel as [|fuel]; [simpl in Hl; lia|]. simpl. apply in_flat_map. exists (bundle i). split; [apply bundle_in, Hi|].
  rewrite bundle_link by exact Hi. rewrite Hs, Nat.eqb_refl. replace (existsb (Nat.eqb (Cut.dst (at_link i))) seen) with false.
  - simpl. destruct h as [|i' h].
    + destruct Hh as [-> ->]. left. reflexivity.
    + destruct Hh as [-> Hh]. apply in_map_iff. exists (v, map bundle (i' :: h)). split; auto. apply IH; auto. simpl in *. lia.
  - symmetry. apply not_true_is_false. intros E. apply existsb_exists in E. destruct E as [x [Hx E]]. apply Nat.eqb_eq in E. subst x. auto.
Qed.
Lemma hop_over_links h v : forall node seen, hop_over node seen h v -> forall i, In i h -> (i < many)%nat.
Proof.
  induction h as [|a h IH]; intros node seen Hh i Hi; [destruct Hi|]. destruct Hh as [Ha [_ [_ Hh]]]. destruct Hi as [->|Hi]; auto.
  destruct h as [|b h]; [destruct Hi|]. apply (IH _ _ (proj2 Hh) i Hi).
Qed.
Lemma hop_over_short h v : forall node seen, hop_over node seen h v -> (length h <= many)%nat.
Proof.
  assert (Nd : forall h node seen, hop_over node seen h v -> NoDup (map (fun i => Cut.dst (at_link i)) h) /\
      forall w, In w (map (fun i => Cut.dst (at_link i)) h) -> ~ In w seen).
  { clear h. induction h as [|i h IH]; intros node seen Hh; [destruct Hh|]. destruct Hh as [_ [_ [Hn Hh]]].
    destruct h as [|i' h].
    - split; [repeat constructor; intros []|]. intros w [<-|[]]. exact Hn.
    - destruct Hh as [_ Hh]. destruct (IH _ _ Hh) as [A B]. split.
      + simpl map. constructor; [|exact A]. intros Hin. apply (B _ Hin). left. reflexivity.
      + intros w [<-|Hw]; [exact Hn|]. intros Hin. apply (B w Hw). right. exact Hin. }
  intros node seen Hh. destruct (Nd h node seen Hh) as [A _]. apply NoDup_map_inv in A.
  rewrite <- (seq_length many 0). apply NoDup_incl_length; auto. intros i Hi. apply in_seq. pose proof (hop_over_links _ _ _ _ Hh i Hi). lia.
Qed.
Lemma in_arcs_over u h v : (u < nodes j)%nat -> hop_over u [u] h v -> In (Arc u v (map bundle h)) arcs_over.
Proof.
  intros Hu Hh. apply in_flat_map. exists u. split; [apply in_seq; lia|].
  apply (in_map (fun p => Arc u (fst p) (snd p)) _ (v, map bundle h)). apply paths_complete; auto. pose proof (hop_over_short _ _ _ _ Hh). lia.
Qed.

(** ** A route as legs from rank to rank *)

Record leg := Leg { of_chunk : nat; from_rank : nat; to_rank : nat; on_links : list nat; leaves : Z; gets : Z }.
Definition hop_time (b : Z) (h : list nat) : Z := latencies j h + slowest j b h.
Definition end_of (h : list nat) (u : nat) : nat := fold_left (fun _ i => Cut.dst (at_link i)) h u.
Fixpoint legs (k u : nat) (from b : Z) (hs : list (list nat)) : list leg :=
  match hs with
  | [] => []
  | h :: hs => Leg k u (end_of h u) h from (from + hop_time b h) :: legs k (end_of h u) (from + hop_time b h) b hs
  end.

Lemma first_hop r : forall u v, leads j u r v -> is_rank j v = true -> r <> [] ->
  exists h r', r = h ++ r' /\ h <> [] /\ hops j r = h :: hops j r' /\ leads j (end_of h u) r' v /\ is_rank j (end_of h u) = true /\
    forall seen, (forall w, In w (map (fun i => Cut.dst (at_link i)) r) -> ~ In w seen) ->
      NoDup (map (fun i => Cut.dst (at_link i)) r) -> hop_over u seen h (end_of h u).
Proof.
  induction r as [|i r IH]; intros u v Hl Hv Hn; [congruence|]. destruct Hl as [Hi [Hs Hl]]. cbn [hops].
  destruct (is_rank j (Cut.dst (at_link i))) eqn:E.
  - exists [i], r. split; [reflexivity|]. split; [discriminate|]. split; [reflexivity|]. split; [exact Hl|]. split; [exact E|].
    intros seen Hw _. simpl. split; [exact Hi|]. split; [exact Hs|]. split; [apply Hw; left; auto|auto].
  - assert (r <> []) by (intros ->; simpl in Hl; congruence).
    destruct (IH _ _ Hl Hv H) as [h [r' [Er [Eh [Eo [El [Ek Ho]]]]]]]. exists (i :: h), r'. rewrite Eo.
    split; [rewrite Er; reflexivity|]. split; [discriminate|]. split; [reflexivity|]. split; [exact El|]. split; [exact Ek|].
    intros seen Hw Nd. simpl map in Nd. apply NoDup_cons_iff in Nd. destruct Nd as [N1 N2]. change (end_of (i :: h) u) with (end_of h (Cut.dst (at_link i))).
    assert (R : hop_over (Cut.dst (at_link i)) (Cut.dst (at_link i) :: seen) h (end_of h (Cut.dst (at_link i)))).
    { apply Ho; auto. intros w Hin [<-|Hs']; [auto|]. apply (Hw w); [right; auto|exact Hs']. }
    cbn [hop_over]. split; [exact Hi|]. split; [auto|]. split; [apply Hw; left; auto|]. destruct h; [congruence|]. auto.
Qed.

Lemma end_of_app h r u : end_of (h ++ r) u = end_of r (end_of h u).
Proof. unfold end_of. apply fold_left_app. Qed.
Lemma end_of_visited h : forall u, h <> [] -> In (end_of h u) (map (fun i => Cut.dst (at_link i)) h).
Proof.
  induction h as [|i h IH]; intros u H; [congruence|]. destruct h as [|i' h]; [left; reflexivity|].
  right. apply (IH (Cut.dst (at_link i))). discriminate.
Qed.

Definition leg_ok (k u v : nat) (r : list nat) (from b : Z) (l : list leg) (g : leg) : Prop :=
  of_chunk g = k /\ In (from_rank g) (visited j u r) /\ In (to_rank g) (visited j u r) /\
  is_rank j (from_rank g) = true /\ is_rank j (to_rank g) = true /\ hop_over (from_rank g) [from_rank g] (on_links g) (to_rank g) /\
  from <= leaves g /\ gets g = leaves g + hop_time b (on_links g) /\
  ((from_rank g = u /\ leaves g = from) \/ exists g', In g' l /\ to_rank g' = from_rank g /\ gets g' <= leaves g).
Hypothesis sane : positive j.
Lemma hop_time_0 b h : 0 <= hop_time b h.
Proof. unfold hop_time. pose proof (latencies_0 j sane h). pose proof (slowest_0 j b h). lia. Qed.
Lemma legs_spec k b n : forall r u v from, (length r <= n)%nat -> leads j u r v -> is_rank j u = true -> is_rank j v = true ->
  NoDup (visited j u r) -> r <> [] ->
  (forall g, In g (legs k u from b (hops j r)) -> leg_ok k u v r from b (legs k u from b (hops j r)) g /\ gets g <= from + lasting j b (hops j r)) /\
  exists g, In g (legs k u from b (hops j r)) /\ to_rank g = v /\ gets g <= from + lasting j b (hops j r).
Proof.
  induction n as [|n IH]; intros r u v from Hn Hl Hu Hv Nd Hr; [destruct r; [congruence|simpl in Hn; lia]|].
  destruct (first_hop r u v Hl Hv Hr) as [h [r' [Er [Eh [Eo [El [Ek Ho]]]]]]]. rewrite Eo. cbn [legs].
  set (w := end_of h u) in *. unfold lasting. cbn [sum fold_right]. change (fold_right _ 0 (hops j r')) with (lasting j b (hops j r')).
  fold (hop_time b h). pose proof (lasting_0 j sane b (hops j r')) as L0. pose proof (hop_time_0 b h) as T0.
  unfold visited in Nd. apply NoDup_cons_iff in Nd. destruct Nd as [N1 N2].
  assert (Hw : In w (visited j u r)) by (right; rewrite Er, map_app; apply in_or_app; left; apply end_of_visited, Eh).
  assert (First : forall l, leg_ok k u v r from b l (Leg k u w h from (from + hop_time b h))).
  { intros l. unfold leg_ok. cbn [of_chunk from_rank to_rank on_links leaves gets]. split; [reflexivity|]. split; [left; reflexivity|]. split; [exact Hw|].
    split; [exact Hu|]. split; [exact Ek|]. split; [|split; [lia|split; [reflexivity|left; auto]]].
    apply Ho; auto. intros x Hx [<-|[]]. auto. }
  destruct r' as [|i r'].
  - cbn [hops legs] in *. simpl in El. split.
    + intros g [<-|[]]. split; [apply First|]. cbn [gets]. lia.
    + exists (Leg k u w h from (from + hop_time b h)). split; [left; auto|]. cbn [to_rank gets]. split; [exact El|lia].
  - assert (Nd' : NoDup (visited j w (i :: r'))).
    { unfold visited. rewrite Er, map_app in N2. clear - N2 Eh.
      destruct (exists_last Eh) as [h0 [x E]]. assert (w = Cut.dst (at_link x)) by (unfold w; rewrite E, end_of_app; reflexivity).
      rewrite E, map_app, <- app_assoc in N2. apply nodup_right in N2. simpl in N2. rewrite H. exact N2. }
    assert (Ln : (length (i :: r') <= n)%nat).
    { rewrite Er, app_length in Hn. destruct h; [congruence|]. simpl in *. lia. }
    destruct (IH (i :: r') w v (from + hop_time b h) Ln El Ek Hv Nd' ltac:(discriminate)) as [A [g0 [B1 [B2 B3]]]].
    assert (Vis : forall x, In x (visited j w (i :: r')) -> In x (visited j u r)).
    { intros x [<-|Hx]; [exact Hw|]. right. rewrite Er, map_app. apply in_or_app. right. exact Hx. }
    split.
    + intros g [<-|Hg]; [split; [apply First|cbn [gets]; lia]|]. destruct (A g Hg) as [[C1 [C2 [C3 [C4 [C5 [C6 [C7 [C8 C9]]]]]]]] C10].
      split; [|lia]. unfold leg_ok. repeat (split; [solve [auto|lia]|]). right.
      destruct C9 as [[D1 D2]|[g' [D1 [D2 D3]]]].
      * exists (Leg k u w h from (from + hop_time b h)). split; [left; auto|]. cbn [to_rank gets]. split; [auto|lia].
      * exists g'. split; [right; auto|auto].
    + exists g0. split; [right; auto|]. split; [auto|lia].
Qed.

(** ** The system of a job *)

Definition holder_of (k : nat) : nat :=
  match find (fun e => (snd (fst e) =? k)%nat) (pre j) with Some e => fst (fst e) | None => O end.
Definition one_holder : bool := forallb (fun e => (fst (fst e) =? holder_of (snd (fst e)))%nat) (pre j).
Definition wanted_by (k : nat) : list nat :=
  filter (fun v => existsb (fun e => (fst (fst e) =? v)%nat && (snd (fst e) =? k)%nat) (post j)) (seq 0 (nodes j)).
Definition same_as_before (k : nat) : bool :=
  match k with
  | O => false
  | S k' => (size j k =? size j k') && (holder_of k =? holder_of k')%nat && (if list_eq_dec Nat.eq_dec (wanted_by k) (wanted_by k') then true else false)
  end.

Inductive clock := Epochs (tau : Z) | Rounds (by_link : bool).

Definition epoch_span (tau : Z) (sp : span) : Z * Z :=
  let x := first sp / tau in let y := long sp / tau in
  if first sp mod tau =? 0 then (x, x + Z.max 0 y) else (x + 1, x + 1 + Z.max 0 (y - 1)).
Definition place_spans (c : clock) (k : nat) (h : list nat) : list (nat * (Z * Z)) :=
  match c with
  | Epochs tau => map (fun u => (fst u, epoch_span tau (snd u))) (along j (slowest j (size j k) h) 0 h)
  | Rounds _ => map (fun i => (i, (0, 1))) h
  end.
Definition at_places (c : clock) (member : nat -> bool) (capacity : nat) : limit :=
  Limit capacity (fun k a => flat_map (fun u => if member (fst u) then [snd u] else []) (place_spans c k (over a))).
Definition of_bundle (c : clock) (b : nat) : limit :=
  at_places c (Nat.eqb b) (Clauses.how_many (fun i => (bundle i =? b)%nat) (seq 0 many)).
Definition of_port (c : clock) (p : list nat * nat) : limit := at_places c (fun b => existsb (Nat.eqb b) (fst p)) (snd p).
Definition of_rank (end_of : arc -> nat) (v : nat) : limit := Limit 1 (fun _ a => if (end_of a =? v)%nat then [(0, 1)] else []).
Definition delay_by (c : clock) (k : nat) (a : arc) : Z :=
  match c with Epochs tau => hop_time (size j k) (over a) / tau | Rounds _ => 1 end.
Definition ready_by (c : clock) (v : nat) : Z := match c with Epochs tau => arrival v / tau | Rounds _ => 0 end.

(** Epochs at which each rank can have chunk [k], by relaxation. What it finds is checked. *)
Definition relaxed (c : clock) (h : Z) (k : nat) (l : list arc) (row : list Z) : list Z :=
  map (fun v => fold_left (fun e a => if (head_of a =? v)%nat
    then Z.min e (Z.max (nth (tail_of a) row (h + 1)) (Z.max (ready_by c (tail_of a)) (ready_by c v)) + delay_by c k a) else e) l (nth v row (h + 1)))
    (seq 0 (nodes j)).
Definition earliest_of (c : clock) (h : Z) (l : list arc) (k : nat) : list Z :=
  Nat.iter (nodes j) (relaxed c h k l) (map (fun v => if (v =? holder_of k)%nat then 0 else h + 1) (seq 0 (nodes j))).

Definition system_of (c : clock) (h : Z) (n : nat) : system :=
  let l := match c with Rounds false => arcs_between | _ => arcs_over end in
  let table := map (earliest_of c h l) (seq 0 (length (sizes j))) in
  let bs := bundles in
  System (length (sizes j)) holder_of wanted_by same_as_before l (delay_by c) (ready_by c) h n
    (match c with
     | Rounds false => map (fun v => [of_rank tail_of v; of_rank head_of v]) (seq 0 (nodes j))
     | _ => map (fun b => [of_bundle c b]) bs ++ map (fun p => [of_port c p]) (ports j)
     end)
    (fun k v => nth v (nth k table []) 0) (nodes j).

(** What the formula takes for granted, decided. *)
Definition properly (s : system) : bool :=
  forallb (fun k => (early s k (holder s k) <=? 0) &&
    forallb (fun a => (1 <=? delay s k a) && (early s k (head_of a) <=? earliest s k a + delay s k a) &&
      ((steps s =? 0)%nat || (delay s k a =? 1))) (arcs s)) (seq 0 (chunks s)) &&
  forallb (fun a => (head_of a <? ranks s)%nat) (arcs s).

Lemma same_spec k : same_as_before (S k) = true -> size j (S k) = size j k /\ holder_of (S k) = holder_of k /\ wanted_by (S k) = wanted_by k.
Proof.
  unfold same_as_before. rewrite !andb_true_iff, Z.eqb_eq, Nat.eqb_eq. destruct (list_eq_dec Nat.eq_dec (wanted_by (S k)) (wanted_by k)); intuition congruence.
Qed.
Lemma properly_spec c h n : properly (system_of c h n) = true -> proper (system_of c h n).
Proof.
  set (s := system_of c h n). unfold properly. rewrite andb_true_iff, !forallb_forall. intros [A B].
  assert (Nth : forall a, (a < length (arcs s))%nat -> In (the_arc s a) (arcs s)) by (intros a Ha; apply nth_In, Ha).
  assert (E : forall k a, (k < chunks s)%nat -> (a < length (arcs s))%nat ->
     (1 <= delay s k (the_arc s a) /\ early s k (head_of (the_arc s a)) <= earliest s k (the_arc s a) + delay s k (the_arc s a)) /\
     (steps s = O \/ delay s k (the_arc s a) = 1)).
  { intros k a Hk Ha. specialize (A k ltac:(apply in_seq; lia)). rewrite andb_true_iff, forallb_forall in A. destruct A as [_ A].
    specialize (A _ (Nth a Ha)). rewrite !andb_true_iff, orb_true_iff, !Z.leb_le, Nat.eqb_eq, Z.eqb_eq in A. exact A. }
  split; [intros k a Hk Ha; apply E; auto|]. split; [intros k a Hk Ha; apply E; auto|].
  split; [intros k Hk; specialize (A k ltac:(apply in_seq; lia)); apply andb_true_iff in A; apply Z.leb_le, A|].
  split; [intros a Ha; apply Nat.ltb_lt, B, Nth, Ha|]. split; [|split; [|split]].
  - intros g l k a Hg Hl _ Hs _. apply same_spec in Hs. destruct Hs as [Hs _].
    assert (P : forall member cap, spans (at_places c member cap) (S k) (the_arc s a) = spans (at_places c member cap) k (the_arc s a)).
    { intros member cap. unfold at_places, place_spans. cbn [spans]. rewrite Hs. reflexivity. }
    destruct c as [tau|[|]]; cbn [limits s system_of] in Hg.
    1,2: apply in_app_or in Hg; destruct Hg as [Hg|Hg]; apply in_map_iff in Hg; destruct Hg as [x [<- _]]; destruct Hl as [<-|[]]; apply P.
    apply in_map_iff in Hg. destruct Hg as [x [<- _]]. destruct Hl as [<-|[<-|[]]]; reflexivity.
  - intros k a _ Hs _. apply same_spec in Hs. destruct Hs as [Hs _]. cbn [delay s system_of]. unfold delay_by. rewrite Hs. reflexivity.
  - intros k _ Hs. apply same_spec in Hs. apply Hs.
  - intros N k a Hk Ha. destruct (E k a Hk Ha) as [_ [D|D]]; [congruence|exact D].
Qed.

(** With [n] > 0, none that falls into [n] steps. *)
Definition no_schedule (c : clock) (h : Z) (n : nat) (proof : list Lrat.line) : bool :=
  let s := system_of c h n in one_holder && properly s && refuted_by (variables s) (formula s) proof.

(** ** From legs to moves *)

Section Legs.
Variable c : clock.
Variable h : Z.
Variable n : nat.
Variable step_of at_epoch : Z -> Z.
Variable l : list leg.
Notation s := (system_of c h n).
Definition the_leg_arc (g : leg) : arc :=
  Arc (from_rank g) (to_rank g) (match c with Rounds false => [] | _ => map bundle (on_links g) end).
Definition move_of (g : leg) : move := Move (of_chunk g) (place (the_leg_arc g) (arcs s)) (at_epoch (leaves g)).
Hypothesis known : forall g, In g l -> (of_chunk g < length (sizes j))%nat /\ In (the_leg_arc g) (arcs s).
Hypothesis later : forall x y, x <= y -> at_epoch x <= at_epoch y.
Hypothesis arrived : forall g, In g l -> 0 <= at_epoch (leaves g) /\
  ready_by c (from_rank g) <= at_epoch (leaves g) /\ ready_by c (to_rank g) <= at_epoch (leaves g).
Hypothesis lasts : forall g, In g l -> at_epoch (leaves g) + delay_by c (of_chunk g) (the_leg_arc g) <= at_epoch (gets g) /\ at_epoch (gets g) <= h.
Hypothesis has_come : forall g, In g l -> from_rank g = holder_of (of_chunk g) \/
  exists g', In g' l /\ of_chunk g' = of_chunk g /\ to_rank g' = from_rank g /\ gets g' <= leaves g /\
    (n <> O -> step_of (at_epoch (leaves g')) < step_of (at_epoch (leaves g))).
Hypothesis stepped : n <> O -> (forall x y, 0 <= x <= y -> step_of x <= step_of y) /\ (forall x, 0 <= x -> 0 <= step_of x < Z.of_nat n).
Hypothesis delivered : forall k v, (k < length (sizes j))%nat -> In v (wanted_by k) -> v <> holder_of k ->
  exists g, In g l /\ of_chunk g = k /\ to_rank g = v.
Hypothesis fit : forall g x t, In g (limits s) -> In x g -> 0 <= t < h ->
  (Clauses.how_many (fun g => occupies s x t (move_of g)) l <= capacity x)%nat.

Lemma move_arc g : In g l -> over_arc s (move_of g) = the_leg_arc g.
Proof. intros Hg. unfold over_arc, the_arc, move_of. cbn [arc_of]. apply place_spec, known, Hg. Qed.
Lemma move_arrives g : In g l -> arrives s (move_of g) = at_epoch (leaves g) + delay_by c (of_chunk g) (the_leg_arc g).
Proof. intros Hg. unfold arrives. rewrite move_arc by exact Hg. reflexivity. Qed.
Theorem plan_of_legs : plan s step_of (map move_of l).
Proof.
  constructor.
  - intros m Hm. apply in_map_iff in Hm. destruct Hm as [g [<- Hg]]. split; [apply known, Hg|]. apply (place_spec _ _ (Arc 0 0 [])), known, Hg.
  - intros m Hm. apply in_map_iff in Hm. destruct Hm as [g [<- Hg]]. rewrite move_arc by exact Hg. apply (arrived g Hg).
  - intros m Hm. apply in_map_iff in Hm. destruct Hm as [g [<- Hg]]. rewrite move_arrives by exact Hg. destruct (lasts g Hg). cbn [horizon system_of]. lia.
  - intros m Hm. apply in_map_iff in Hm. destruct Hm as [g [<- Hg]]. rewrite move_arc by exact Hg.
    destruct (has_come g Hg) as [E|[g' [H1 [H2 [H3 [H4 H5]]]]]]; [left; exact E|right].
    exists (move_of g'). split; [apply in_map, H1|]. split; [exact H2|]. rewrite move_arc, move_arrives by exact H1. split; [exact H3|].
    destruct (lasts g' H1). pose proof (later _ _ H4). cbn [start move_of]. split; [lia|exact H5].
  - exact stepped.
  - intros k v Hk Hv Hn. destruct (delivered k v Hk Hv Hn) as [g [H1 [H2 H3]]]. exists (move_of g).
    split; [apply in_map, H1|]. split; [exact H2|]. rewrite move_arc by exact H1. exact H3.
  - intros g x t Hg Hx Ht. eapply Nat.le_trans; [|apply (fit g x t Hg Hx Ht)]. clear.
    induction l as [|a l' IH]; [apply le_n|]. simpl map. rewrite !how_many_cons. lia.
Qed.
End Legs.

(** ** What comes to a slot *)

Section Execution.
Variable ts : list timed.
Variable H : Z -> state.
Hypothesis exec : execution (lookup (pre j)) ts H.
Hypothesis spans_ok : forall t, In t ts -> 0 <= begins t < ends t.
Hypothesis one : one_holder = true.

Lemma only_holder v k w : lookup (pre j) v k = Some w -> v = holder_of k.
Proof. intros Hl. apply lookup_In in Hl. unfold one_holder in one. rewrite forallb_forall in one. specialize (one _ Hl). apply Nat.eqb_eq in one. exact one. Qed.
Lemma came v k x : 0 <= x -> H x v k <> None -> v = holder_of k \/ exists t, In t ts /\ dst (tr t) = v /\ what (tr t) = k /\ ends t <= x.
Proof.
  intros Hx Hd. destruct (changed j ts H exec x Hx v k) as [E|[t [Ht [Es He]]]].
  - left. destruct (H x v k) as [w|] eqn:Ew; [|congruence]. apply (only_holder v k w). auto.
  - right. exists t. injection Es as E1 E2. auto.
Qed.
Lemma all_read ws : forall acc, (forall t, In t ws -> op (tr t) = Copy -> ws = [t]) -> fold_left (after H) ws acc <> None ->
  forall t, In t ws -> H (begins t) (src (tr t)) (what (tr t)) <> None.
Proof.
  intros acc Hc Hf t Ht E. destruct (copy_or_reduce ws Hc) as [[u ->]|R].
  - destruct Ht as [->|[]]. simpl in Hf. unfold after in Hf. rewrite E in Hf. unfold put in Hf. destruct (op (tr t)); congruence.
  - clear Hc. revert acc Hf. induction ws as [|u ws IH]; [destruct Ht|]. intros acc Hf. simpl in Hf. destruct Ht as [->|Ht].
    + unfold after at 2 in Hf. rewrite E in Hf. unfold put in Hf. pose proof (R t (or_introl eq_refl)) as Rt. unfold reduces in Rt. rewrite Rt in Hf.
      apply Hf. apply none_stays. intros x Hx. apply R. right. exact Hx.
    + apply (IH Ht (fun x Hx => R x (or_intror Hx)) _ Hf).
Qed.
Lemma source_defined t : In t ts -> H (begins t) (src (tr t)) (what (tr t)) <> None.
Proof.
  intros Ht. pose proof (spans_ok t Ht). destruct (proj2 exec (ends t) (dst (tr t)) (what (tr t)) ltac:(lia)) as [A [B C]].
  assert (I : In t (filter (into (dst (tr t)) (what (tr t)) (ends t)) ts)).
  { apply filter_In. split; auto. unfold into. apply andb_true_iff. split; [apply same_slot_spec; reflexivity|apply Z.eqb_refl]. }
  apply (all_read _ (H (ends t - 1) (dst (tr t)) (what (tr t))) B); auto. rewrite <- A. apply C. intros N. rewrite N in I. destruct I.
Qed.
End Execution.

(** What is wanted comes, and each rank that sends has it. *)
Definition brings (sch : list sent) : Prop :=
  (forall t, In t sch -> src (tr (data t)) = holder_of (what (tr (data t))) \/
     exists t', In t' sch /\ dst (tr (data t')) = src (tr (data t)) /\ what (tr (data t')) = what (tr (data t)) /\ ends (data t') <= begins (data t)) /\
  (forall k v, In v (wanted_by k) -> v <> holder_of k -> exists t, In t sch /\ dst (tr (data t)) = v /\ what (tr (data t)) = k).
Lemma schedule_brings sch : executes j sch -> (forall t, In t sch -> 0 <= begins (data t) < ends (data t)) -> one_holder = true -> brings sch.
Proof.
  intros [H [He Hg]] Hs One.
  assert (Sp : forall t, In t (map data sch) -> 0 <= begins t < ends t) by (intros t Ht; apply in_map_iff in Ht; destruct Ht as [x [<- Hx]]; auto).
  split.
  - intros t Ht. pose proof (source_defined _ H He Sp (data t) (in_map data _ _ Ht)) as D. specialize (Hs t Ht).
    destruct (came _ H He One _ _ (begins (data t)) ltac:(lia) D) as [E|[u [Hu [E1 [E2 L]]]]]; auto. right.
    apply in_map_iff in Hu. destruct Hu as [t' [<- Ht']]. exists t'. auto.
  - intros k v Hv Hn. apply filter_In in Hv. destruct Hv as [_ Hv]. apply existsb_exists in Hv. destruct Hv as [[[v' k'] w] [Hin E]].
    cbn [fst snd] in E. apply andb_true_iff in E. rewrite !Nat.eqb_eq in E. destruct E as [-> ->].
    destruct (Hg v k w Hin) as [got [Hgot _]]. pose proof (makespan_0 sch).
    destruct (came _ H He One v k (makespan sch) ltac:(lia) ltac:(congruence)) as [E|[u [Hu [E1 [E2 L]]]]]; [congruence|].
    apply in_map_iff in Hu. destruct Hu as [t' [<- Ht']]. exists t'. auto.
Qed.

(** ** Capacity at one instant *)

Definition at_instant (x : Z) (u : use) : bool := (first (snd u) <=? x) && (x <? first (snd u) + long (snd u)).
Definition member_at (member : nat -> bool) (x : Z) (u : use) : bool := member (bundle (fst u)) && at_instant x u.

Lemma within_bundle us b x : disjoint us -> (forall u, In u us -> (fst u < many)%nat) ->
  (Clauses.how_many (member_at (Nat.eqb b) x) us <= capacity (of_bundle (Rounds true) b))%nat.
Proof.
  intros D L. cbn [of_bundle at_places capacity]. unfold Clauses.how_many.
  eapply Nat.le_trans; [apply Nat.eq_le_incl; symmetry; apply (map_length fst)|]. apply NoDup_incl_length.
  - clear L. induction D as [|u us Hu _ IH]; simpl; [constructor|]. destruct (member_at (Nat.eqb b) x u) eqn:E; auto.
    simpl. constructor; auto. intros Hin. apply in_map_iff in Hin. destruct Hin as [u' [E1 Hu']]. apply filter_In in Hu'. destruct Hu' as [Hu' E'].
    rewrite Forall_forall in Hu. specialize (Hu u' Hu' (eq_sym E1)). unfold apart in Hu.
    unfold member_at, at_instant in E, E'. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in E, E'. lia.
  - intros i Hi. apply in_map_iff in Hi. destruct Hi as [u [<- Hu]]. apply filter_In in Hu. destruct Hu as [Hu E].
    apply andb_true_iff in E. destruct E as [E _]. apply Nat.eqb_eq in E. apply filter_In. split; [apply in_seq; specialize (L u Hu); lia|].
    apply Nat.eqb_eq. auto.
Qed.
Lemma bundle_in_port p i : In p (ports j) -> (i < many)%nat -> existsb (Nat.eqb (bundle i)) (fst p) = existsb (Nat.eqb i) (fst p).
Proof.
  intros Hp Hi. apply (In_nth _ _ ([], O)) in Hp. destruct Hp as [n [Hn <-]]. pose proof (bundle_ports i Hi) as E.
  apply eq_true_iff_eq. 
  assert (X : forall i, existsb (Nat.eqb i) (fst (nth n (ports j) ([], O))) = true <-> In n (ports_of i)).
  { intros i'. unfold ports_of. rewrite filter_In, in_seq. intuition lia. }
  rewrite !X, E. reflexivity.
Qed.
Lemma within_port us p x : In p (ports j) -> (forall ls c, In (ls, c) (ports j) -> forall x, (length (filter (uses_at ls x) us) <= c)%nat) ->
  (forall u, In u us -> (fst u < many)%nat) ->
  (Clauses.how_many (member_at (fun b => existsb (Nat.eqb b) (fst p)) x) us <= snd p)%nat.
Proof.
  intros Hp Hw L. eapply Nat.le_trans; [|apply (Hw (fst p) (snd p)) with (x := x); rewrite <- surjective_pairing; exact Hp].
  unfold Clauses.how_many. clear Hw. induction us as [|u us IH]; [apply le_n|]. specialize (IH (fun x Hx => L x (or_intror Hx))). simpl.
  replace (member_at (fun b => existsb (Nat.eqb b) (fst p)) x u) with (uses_at (fst p) x u); [destruct (uses_at (fst p) x u); cbn [length]; unfold use in *; lia|].
  unfold uses_at, member_at, at_instant. rewrite (bundle_in_port p) by (auto; apply L; left; auto). rewrite andb_assoc. reflexivity.
Qed.

(** ** Timed: times are cut to epochs *)

Section Timed.
Variable tau h : Z.
Hypothesis tau_0 : 0 < tau.
Notation c := (Epochs tau).
Notation cut := (fun x => x / tau).

(** A span keeps what it has of whole epochs busy at their last instant. *)
Lemma floor_busy s x y t : 0 <= s -> 0 <= x -> 0 <= y -> fst (epoch_span tau (Span x y)) <= t - s / tau < snd (epoch_span tau (Span x y)) ->
  s + x <= tau * (t + 1) - 1 < s + x + y.
Proof.
  intros Hs Hx Hy. unfold epoch_span. cbn [first long].
  pose proof (Z.div_mod s tau ltac:(lia)) as Es. pose proof (Z.mod_pos_bound s tau tau_0) as Bs.
  pose proof (Z.div_mod x tau ltac:(lia)) as Ex. pose proof (Z.mod_pos_bound x tau tau_0) as Bx.
  pose proof (Z.div_mod y tau ltac:(lia)) as Ey. pose proof (Z.mod_pos_bound y tau tau_0) as By.
  pose proof (Z.div_pos y tau Hy tau_0).
  destruct (Z.eqb_spec (x mod tau) 0) as [E|E]; cbn [fst snd]; intros [A B]; nia.
Qed.
Lemma floor_add a b : a / tau + b / tau <= (a + b) / tau.
Proof.
  apply Z.div_le_lower_bound; auto. pose proof (Z.mul_div_le a tau tau_0). pose proof (Z.mul_div_le b tau tau_0). lia.
Qed.

Lemma latencies_bundle l : (forall i, In i l -> (i < many)%nat) -> latencies j (map bundle l) = latencies j l.
Proof.
  unfold latencies. induction l as [|i l IH]; simpl; intros Hl; auto. rewrite bundle_link by auto. rewrite IH by auto. reflexivity.
Qed.
Lemma slowest_bundle b l : (forall i, In i l -> (i < many)%nat) -> slowest j b (map bundle l) = slowest j b l.
Proof. induction l as [|i l IH]; simpl; intros Hl; auto. rewrite bundle_link by auto. rewrite IH by auto. reflexivity. Qed.
Lemma along_bundle slow d l : (forall i, In i l -> (i < many)%nat) -> forall from,
  along j slow from (map bundle l) = map (fun u => (bundle (fst u), Span (first (snd u) - d) (long (snd u)))) (along j slow (from + d) l).
Proof.
  induction l as [|i l IH]; simpl; intros Hl from; auto. rewrite bundle_link by auto. rewrite IH by auto.
  f_equal; [f_equal; f_equal; lia|]. do 2 f_equal. lia.
Qed.
Lemma along_0 slow l : 0 <= slow -> forall from i sp, In (i, sp) (along j slow from l) -> from <= first sp /\ 0 <= long sp.
Proof.
  intros H0. induction l as [|a l IH]; simpl; intros from i sp Hin; [destruct Hin|]. pose proof (sane_link j sane a) as [La _]. destruct Hin as [E|Hin].
  - injection E as <- <-. cbn [first long]. destruct (model j); lia.
  - destruct (IH _ _ _ Hin). lia.
Qed.

Definition legs_of (t : sent) : list leg :=
  legs (what (tr (data t))) (src (tr (data t))) (begins (data t)) (size j (what (tr (data t)))) (hops j (route t)).
Definition all_legs (sch : list sent) : list leg := flat_map legs_of sch.
Lemma legs_busy (f : leg -> bool) (p : use -> bool) k b hs : forall u from,
  (forall g, In g (legs k u from b hs) -> f g = true -> exists x, In x (along j (slowest j b (on_links g)) (leaves g) (on_links g)) /\ p x = true) ->
  (Clauses.how_many f (legs k u from b hs) <= Clauses.how_many p (busy_hops j b from hs))%nat.
Proof.
  induction hs as [|l hs IH]; intros u from Hf; [apply le_n|]. cbn [legs busy_hops]. rewrite how_many_cons, how_many_app.
  specialize (IH (end_of l u) (from + hop_time b l) (fun g Hg => Hf g (or_intror Hg))). fold (hop_time b l).
  specialize (Hf _ (or_introl eq_refl)). cbn [on_links leaves] in Hf.
  destruct (f _); [|lia]. destruct (Hf eq_refl) as [x [Hx Px]]. pose proof (how_many_pos p _ x Hx Px). lia.
Qed.

Variable sch : list sent.
Hypothesis good : forall t, In t sch -> well j t.
Hypothesis bundles_fit : forall b x, (Clauses.how_many (member_at (Nat.eqb b) x) (uses j sch) <= capacity (of_bundle c b))%nat.
Hypothesis ports_fit : forall p x, In p (ports j) ->
  (Clauses.how_many (member_at (fun b => existsb (Nat.eqb b) (fst p)) x) (uses j sch) <= snd p)%nat.
Hypothesis brought : brings sch.
Hypothesis soon : makespan sch < (h + 1) * tau.

Lemma sent_legs t : In t sch -> let k := what (tr (data t)) in
  (forall g, In g (legs_of t) -> leg_ok k (src (tr (data t))) (dst (tr (data t))) (route t) (begins (data t)) (size j k) (legs_of t) g /\
     gets g <= ends (data t)) /\
  exists g, In g (legs_of t) /\ to_rank g = dst (tr (data t)) /\ gets g <= ends (data t).
Proof.
  intros Ht k. destruct (good t Ht) as [[_ [Hs [Hd Hne]]] [Hl [Nd [_ [He _]]]]]. rewrite He.
  apply (legs_spec k (size j k) (length (route t))); auto; try (apply Nat.ltb_lt; assumption).
  intros E. rewrite E in Hl. simpl in Hl. congruence.
Qed.
Lemma leg_sent g : In g (all_legs sch) -> exists t, In t sch /\ In g (legs_of t).
Proof. intros Hg. apply in_flat_map in Hg. destruct Hg as [t [Ht Hg]]. eauto. Qed.

Theorem timed_plan : plan (system_of c h 0) (fun _ => 0) (map (move_of c h 0 cut) (all_legs sch)).
Proof.
  assert (Hs : forall t, In t sch -> 0 <= begins (data t) < ends (data t)) by (intros t Ht; apply (good t Ht)).
  destruct brought as [Src Want].
  assert (Known : forall g, In g (all_legs sch) -> (of_chunk g < length (sizes j))%nat /\ In (the_leg_arc c g) (arcs (system_of c h 0))).
  { intros g Hg. apply leg_sent in Hg. destruct Hg as [t [Ht Hg]]. destruct (proj1 (sent_legs t Ht) g Hg) as [[A [B [C [D [E [F _]]]]]] _].
    split; [rewrite A; apply (good t Ht)|]. apply in_arcs_over; auto. apply Nat.ltb_lt, D. }
  apply plan_of_legs; auto.
  - intros x y Hxy. apply Z.div_le_mono; lia.
  - intros g Hg. apply leg_sent in Hg. destruct Hg as [t [Ht Hg]]. destruct (proj1 (sent_legs t Ht) g Hg) as [[_ [B [C [D [E [_ [G _]]]]]]] _].
    specialize (Hs t Ht). destruct (good t Ht) as [_ [_ [_ [_ [_ Ar]]]]]. pose proof (Ar _ B D). pose proof (Ar _ C E).
    split; [apply Z.div_pos; lia|]. split; apply Z.div_le_mono; lia.
  - intros g Hg. apply leg_sent in Hg. destruct Hg as [t [Ht Hg]]. destruct (proj1 (sent_legs t Ht) g Hg) as [[A [_ [_ [_ [_ [F [_ [G _]]]]]]]] L].
    split.
    + rewrite G, A. cbn [delay_by the_leg_arc over]. unfold hop_time at 1.
      rewrite latencies_bundle, slowest_bundle by (intros i Hi; apply (hop_over_links _ _ _ _ F i Hi)). apply floor_add.
    + apply Z.lt_succ_r. apply Z.div_lt_upper_bound; auto. pose proof (ends_makespan sch t Ht). lia.
  - intros g Hg. apply leg_sent in Hg. destruct Hg as [t [Ht Hg]]. destruct (proj1 (sent_legs t Ht) g Hg) as [[A [_ [_ [_ [_ [_ [_ [_ R]]]]]]]] _].
    destruct R as [[E1 E2]|[g' [H1 [H2 H3]]]].
    + rewrite E1, A. destruct (Src t Ht) as [E|[t' [Ht' [E [Ek L]]]]]; [left; exact E|right].
      destruct (sent_legs t' Ht') as [P [g' [Hg' [G1 G2]]]]. exists g'. split; [apply in_flat_map; eauto|].
      split; [destruct (P g' Hg') as [[Q _] _]; congruence|]. split; [congruence|]. split; [lia|congruence].
    + right. exists g'. split; [apply in_flat_map; eauto|]. destruct (proj1 (sent_legs t Ht) g' H1) as [[Q _] _]. split; [congruence|].
      split; [exact H2|]. split; [exact H3|congruence].
  - intros N. congruence.
  - intros k v Hk Hv Hn. destruct (Want k v Hv Hn) as [t [Ht [E1 E2]]]. destruct (sent_legs t Ht) as [P [g [Hg [G1 G2]]]].
    exists g. split; [apply in_flat_map; eauto|]. split; [destruct (P g Hg) as [[Q _] _]; congruence|congruence].
  - intros gr x t Hgr Hx Ht.
    assert (Fit : forall member cap, x = at_places c member cap ->
        (Clauses.how_many (member_at member (tau * (t + 1) - 1)) (uses j sch) <= cap)%nat ->
        (Clauses.how_many (fun g => occupies (system_of c h 0) x t (move_of c h 0 cut g)) (all_legs sch) <= capacity x)%nat).
    { intros member cap -> Hc. cbn [at_places capacity]. eapply Nat.le_trans; [|exact Hc]. unfold all_legs, uses. apply how_many_flat.
      intros y Hy. apply legs_busy. intros g Hg O.
      assert (In g (all_legs sch)) as Hin by (apply in_flat_map; exists y; auto).
      destruct (proj1 (sent_legs y Hy) g Hg) as [[A [_ [_ [_ [_ [F [G _]]]]]]] _]. specialize (Hs y Hy).
      unfold occupies in O. rewrite (move_arc c h 0 cut (all_legs sch) Known g Hin) in O. apply existsb_exists in O. destruct O as [p [Hp O]].
      cbn [at_places spans the_leg_arc over place_spans] in Hp. apply in_flat_map in Hp. destruct Hp as [w [Hw Hp]].
      destruct (member (fst w)) eqn:M; [|destruct Hp]. destruct Hp as [<-|[]].
      pose proof (fun i Hi => hop_over_links _ _ _ _ F i Hi) as Lk. cbn [chunk_of move_of] in Hw. rewrite A in Hw.
      rewrite slowest_bundle, (along_bundle _ (leaves g)), map_map in Hw by exact Lk. apply in_map_iff in Hw. destruct Hw as [u [<- Hu]].
      rewrite Z.add_0_l in Hu. exists u. split; [exact Hu|]. unfold member_at. cbn [fst] in M. rewrite M. cbn [snd start move_of] in O.
      destruct u as [i sp]. cbn [fst snd] in *. destruct (along_0 _ _ (slowest_0 j _ _) _ _ _ Hu) as [B1 B2].
      apply andb_true_iff in O. rewrite Z.leb_le, Z.ltb_lt in O.
      pose proof (floor_busy (leaves g) (first sp - leaves g) (long sp) t ltac:(lia) ltac:(lia) B2 O). unfold at_instant. cbn [snd].
      rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. repeat split; lia. }
    cbn [limits system_of] in Hgr. apply in_app_or in Hgr. destruct Hgr as [Hgr|Hgr]; apply in_map_iff in Hgr; destruct Hgr as [b [<- Hb]]; destruct Hx as [<-|[]].
    + apply (Fit (Nat.eqb b) (capacity (of_bundle c b))); [reflexivity|]. apply bundles_fit.
    + apply (Fit (fun x => existsb (Nat.eqb x) (fst b)) (snd b)); [reflexivity|]. apply ports_fit, Hb.
Qed.
End Timed.
Lemma uses_known sch : right j sch -> forall u, In u (uses j sch) -> (fst u < many)%nat.
Proof.
  intros good [i sp] Hu. apply in_flat_map in Hu. destruct Hu as [y [Hy Hu]]. destruct (uses_inside j sane y (proj1 good y Hy) i sp Hu) as [A _].
  destruct (proj1 good y Hy) as [_ [Hl _]]. eapply leads_in; eauto.
Qed.

(** 10.1, timed: no right schedule ends before H + 1 epochs have passed. *)
Theorem epochs_sound tau h proof sch : 0 < tau -> no_schedule (Epochs tau) h 0 proof = true -> right j sch -> (h + 1) * tau <= makespan sch.
Proof.
  intros Ht R Hr. destruct (Z.lt_ge_cases (makespan sch) ((h + 1) * tau)) as [L|]; [exfalso|assumption].
  unfold no_schedule in R. rewrite !andb_true_iff in R. destruct R as [[R1 R2] R3].
  refine (no_plan _ _ (properly_spec _ _ _ R2) proof R3 _ (timed_plan tau h Ht sch (proj1 Hr) _ _ _ L)).
  - intros b x. apply within_bundle; [apply Hr|apply uses_known, Hr].
  - intros p x Hp. apply within_port; auto; [apply Hr|apply uses_known, Hr].
  - apply schedule_brings; auto; [|intros t Ht'; apply (proj1 Hr t Ht')]. destruct Hr as [_ [_ [_ [H [He Hg]]]]]. exists H. auto.
Qed.
End Job.

(** ** In rounds: only those that move something count *)

(** Rounds fall into [n] steps, runs of rounds, none of which reads of a rank what was written in it. [f] has
    the step of each round. *)
Definition falls_into (n : nat) (f : Z -> Z) (sch : list sent) : Prop :=
  (forall x y, 0 <= x <= y -> f x <= f y) /\ (forall x, 0 <= x -> 0 <= f x < Z.of_nat n) /\
  forall t u, In t sch -> In u sch -> dst (tr (data t)) = src (tr (data u)) -> what (tr (data t)) = what (tr (data u)) ->
    ends (data t) <= begins (data u) -> f (begins (data t)) < f (begins (data u)).

(** The greatest [f] of the rounds of transfers up to [e], by [g]. *)
Definition latest (g f : Z -> Z) (e : Z) (l : list sent) : Z :=
  fold_right (fun t m => if g (begins (data t)) <=? e then Z.max (f (begins (data t))) m else m) 0 l.
Lemma latest_ge g f e l t : In t l -> g (begins (data t)) <= e -> f (begins (data t)) <= latest g f e l.
Proof.
  intros Ht He. induction l as [|u l IH]; [destruct Ht|]. cbn [latest fold_right]. destruct Ht as [->|Ht].
  - rewrite (proj2 (Z.leb_le _ _) He). lia.
  - specialize (IH Ht). unfold latest in IH. destruct (g (begins (data u)) <=? e); lia.
Qed.
Lemma latest_le g f e l m : 0 <= m -> (forall t, In t l -> g (begins (data t)) <= e -> f (begins (data t)) <= m) -> latest g f e l <= m.
Proof.
  intros Hm Ht. induction l as [|u l IH]; [exact Hm|]. cbn [latest fold_right].
  specialize (IH (fun t H => Ht t (or_intror H))). specialize (Ht u (or_introl eq_refl)). unfold latest in IH.
  destruct (Z.leb_spec (g (begins (data u))) e); [specialize (Ht H); lia|exact IH].
Qed.
Lemma latest_0 g f e l : 0 <= latest g f e l.
Proof. induction l as [|u l IH]; cbn [latest fold_right]; [lia|]. unfold latest in IH. destruct (g (begins (data u)) <=? e); lia. Qed.

Section InRounds.
Variable j : job.
Hypothesis sane : positive j.
Variable by_link : bool.
Variable h : Z.
Variable n : nat.
Variable f : Z -> Z.
Variable sch : list sent.
Hypothesis good : forall t, In t sch -> round_well j by_link t.
Notation c := (Rounds by_link).
Notation many := (length (links j)).

(** How many rounds before the one that begins at an instant move something. *)
Definition moved (x : Z) : Z := Z.of_nat (rounds (rounds_from sch 0 (Z.to_nat x))).
Lemma moved_later x y : x <= y -> moved x <= moved y.
Proof.
  intros H. unfold moved, rounds_from. replace (Z.to_nat y) with (Z.to_nat x + (Z.to_nat y - Z.to_nat x))%nat by lia.
  rewrite seq_app, map_app. unfold rounds. rewrite filter_app, app_length. lia.
Qed.
Lemma moved_next t : In t sch -> 0 <= begins (data t) -> moved (begins (data t)) + 1 = moved (begins (data t) + 1).
Proof.
  intros Ht H0. unfold moved, rounds_from. replace (Z.to_nat (begins (data t) + 1)) with (S (Z.to_nat (begins (data t)))) by lia.
  rewrite seq_S, map_app. unfold rounds. rewrite filter_app, app_length. cbn [map filter plus]. 
  assert (In (tr (data t)) (round_of sch (Z.to_nat (begins (data t))))) as Hin.
  { apply (in_map (fun t => tr (data t))). apply filter_In. split; auto. apply Z.eqb_eq. lia. }
  destruct (round_of sch (Z.to_nat (begins (data t)))); [destruct Hin|]. cbn [moves length]. lia.
Qed.
Lemma moved_same t u : In t sch -> In u sch -> 0 <= begins (data t) -> 0 <= begins (data u) -> moved (begins (data t)) = moved (begins (data u)) ->
  begins (data t) = begins (data u).
Proof.
  intros Ht Hu T0 U0 E. pose proof (moved_next t Ht T0). pose proof (moved_next u Hu U0).
  destruct (Z.lt_trichotomy (begins (data t)) (begins (data u))) as [L|[L|L]]; auto.
  - pose proof (moved_later (begins (data t) + 1) (begins (data u)) ltac:(lia)). lia.
  - pose proof (moved_later (begins (data u) + 1) (begins (data t)) ltac:(lia)). lia.
Qed.

Definition leg_in_round (t : sent) : leg :=
  Leg (what (tr (data t))) (src (tr (data t))) (dst (tr (data t))) (route t) (begins (data t)) (ends (data t)).

Lemma leads_last r : forall u v, leads j u r v -> r <> [] -> In v (map (fun i => Cut.dst (at_link j i)) r).
Proof.
  induction r as [|i r IH]; intros u v Hl Hr; [congruence|]. destruct Hl as [_ [_ Hl]]. destruct r as [|i' r]; [left; exact Hl|].
  right. apply (IH _ _ Hl). discriminate.
Qed.
(** Under link-rounds a route is one hop. *)
Lemma one_hop t : by_link = true -> In t sch -> hop_over j (src (tr (data t))) [src (tr (data t))] (route t) (dst (tr (data t))).
Proof.
  intros Bl Ht. destruct (good t Ht) as [[_ [Hs [Hd Hne]]] [Hl [Nd [_ [_ In2]]]]]. specialize (In2 Bl).
  set (u := src (tr (data t))) in *. set (v := dst (tr (data t))) in *.
  assert (Hr : route t <> []) by (intros E; rewrite E in Hl; simpl in Hl; congruence).
  destruct (first_hop j (route t) u v Hl (proj2 (Nat.ltb_lt _ _) Hd) Hr) as [l [r' [Er [El [_ [Hl' [Ek Ho]]]]]]].
  unfold visited in Nd. apply NoDup_cons_iff in Nd. destruct Nd as [N1 N2].
  assert (Hw : In (end_of j l u) (map (fun i => Cut.dst (at_link j i)) l)) by (apply end_of_visited, El).
  assert (E : end_of j l u = v).
  { destruct (In2 (end_of j l u)) as [E|E]; auto.
    - right. rewrite Er, map_app. apply in_or_app. left. exact Hw.
    - exfalso. apply N1. rewrite <- E, Er, map_app. apply in_or_app. left. exact Hw. }
  assert (r' = []).
  { destruct r' as [|i r']; auto. exfalso. rewrite E in Hl', Hw. apply leads_last in Hl'; [|discriminate]. rewrite Er, map_app in N2.
    apply in_split in Hw. destruct Hw as [a [b Ea]]. rewrite Ea, <- app_assoc in N2. apply nodup_right in N2. simpl in N2.
    apply NoDup_cons_iff in N2. apply N2, in_or_app. right. exact Hl'. }
  subst r'. rewrite app_nil_r in Er. rewrite <- E, Er in *. apply Ho; auto. intros x Hx [<-|[]]. auto.
Qed.

Lemma at_most_one {A} (g : A -> nat) v l : NoDup (map g l) -> (Clauses.how_many (fun x => (g x =? v)%nat) l <= 1)%nat.
Proof.
  induction l as [|a l IH]; intros H; [auto|]. simpl in H. apply NoDup_cons_iff in H. destruct H as [A1 A2]. rewrite how_many_cons.
  destruct (Nat.eqb_spec (g a) v) as [E|]; [|apply IH, A2]. rewrite how_many_0; [auto|]. intros x Hx. apply Nat.eqb_neq. intros E'.
  apply A1. rewrite E, <- E'. apply in_map, Hx.
Qed.

Lemma link_or_not : by_link = true \/ by_link = false.
Proof. destruct by_link; auto. Qed.
Lemma leg_known g : In g (map leg_in_round sch) -> (of_chunk g < length (sizes j))%nat /\ In (the_leg_arc j c g) (arcs (system_of j c h n)).
Proof.
  intros Hg. apply in_map_iff in Hg. destruct Hg as [t [<- Ht]]. destruct (good t Ht) as [[Hk [A [B Hne]]] _]. split; [exact Hk|].
  destruct link_or_not as [E|E]; rewrite E; cbn [arcs system_of the_leg_arc leg_in_round from_rank to_rank on_links].
  - apply in_arcs_over; auto. apply one_hop; auto.
  - apply in_flat_map. exists (src (tr (data t))). split; [apply in_seq; lia|]. apply in_flat_map. exists (dst (tr (data t))).
    split; [apply in_seq; lia|]. destruct (Nat.eqb_spec (src (tr (data t))) (dst (tr (data t)))); [congruence|left; reflexivity].
Qed.
Lemma round_within t : In t sch -> 0 <= begins (data t) /\ ends (data t) = begins (data t) + 1.
Proof. intros Ht. destruct (good t Ht) as [_ [_ [_ [A [B _]]]]]. auto. Qed.
Hypothesis bundles_fit : by_link = true -> forall b x, (Clauses.how_many (member_at j (Nat.eqb b) x) (round_uses sch) <= capacity (of_bundle j c b))%nat.
Hypothesis ports_fit : by_link = true -> forall p x, In p (ports j) ->
  (Clauses.how_many (member_at j (fun b => existsb (Nat.eqb b) (fst p)) x) (round_uses sch) <= snd p)%nat.
Hypothesis once : by_link = false -> forall r, NoDup (map src (round_of sch r)) /\ NoDup (map dst (round_of sch r)).
Lemma rounds_fit gr x t : In gr (limits (system_of j c h n)) -> In x gr -> 0 <= t < h ->
  (Clauses.how_many (fun g => occupies (system_of j c h n) x t (move_of j c h n moved g)) (map leg_in_round sch) <= capacity x)%nat.
Proof.
  intros Hgr Hx Ht. set (o := fun g => occupies (system_of j c h n) x t (move_of j c h n moved g)).
  (* all that are busy in an epoch are of one round *)
  destruct (filter o (map leg_in_round sch)) as [|g0 l0] eqn:Ef; [unfold Clauses.how_many; rewrite Ef; simpl; lia|].
  assert (F0 : In g0 (map leg_in_round sch) /\ o g0 = true) by (apply filter_In; rewrite Ef; left; auto). clear Ef l0.
  destruct F0 as [Hg0 F0]. apply in_map_iff in Hg0. destruct Hg0 as [t0 [<- Ht0]].
  assert (Now : forall u, In u sch -> o (leg_in_round u) = true -> (exists p, In p (spans x (what (tr (data u))) (the_leg_arc j c (leg_in_round u)))) /\ moved (begins (data u)) = t).
  { intros u Hu O. unfold o, occupies in O. rewrite (move_arc j c h n moved _ leg_known) in O by (apply in_map, Hu).
    apply existsb_exists in O. destruct O as [p [Hp O]]. cbn [chunk_of move_of leg_in_round of_chunk start leaves] in *. split; [eauto|].
    assert (Pq : p = (0, 1)).
    { destruct link_or_not as [E|E]; rewrite E in Hgr, Hp; cbn [limits system_of] in Hgr.
      - apply in_app_or in Hgr. destruct Hgr as [Hgr|Hgr]; apply in_map_iff in Hgr; destruct Hgr as [b [<- _]]; destruct Hx as [<-|[]];
        cbn [of_bundle of_port at_places spans place_spans] in Hp; apply in_flat_map in Hp; destruct Hp as [w [Hw Hp]]; apply in_map_iff in Hw; destruct Hw as [i [<- _]];
        cbn [fst snd] in Hp; [destruct (b =? i)%nat|destruct (existsb (Nat.eqb i) (fst b))]; simpl in Hp; intuition congruence.
      - apply in_map_iff in Hgr. destruct Hgr as [b [<- _]]. destruct Hx as [<-|[<-|[]]]; cbn [of_rank spans] in Hp;
        [destruct (tail_of _ =? b)%nat|destruct (head_of _ =? b)%nat]; simpl in Hp; intuition congruence. }
    subst p. cbn [fst snd] in O. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt in O. lia. }
  assert (Same : forall u, In u sch -> o (leg_in_round u) = true -> begins (data u) = begins (data t0)).
  { intros u Hu O. apply moved_same; auto; try (apply round_within; assumption). destruct (Now u Hu O) as [_ ->]. destruct (Now t0 Ht0 F0) as [_ ->]. reflexivity. }
  assert (Rank : forall (e : transfer -> nat) v, (forall r, NoDup (map e (round_of sch r))) ->
      (forall u, In u sch -> o (leg_in_round u) = true -> e (tr (data u)) = v) ->
      (Clauses.how_many o (map leg_in_round sch) <= 1)%nat).
  { intros e v Nd He. eapply Nat.le_trans; [|apply (at_most_one e v (round_of sch (Z.to_nat (begins (data t0))))), Nd].
    unfold round_of, RoundTime.sent_in. pose proof (round_within t0 Ht0) as W0. clear - He Same W0.
    induction sch as [|u l IH]; [apply le_n|]. simpl map. rewrite how_many_cons.
    specialize (IH (fun u Hu => Same u (or_intror Hu)) (fun u Hu => He u (or_intror Hu))). specialize (Same u (or_introl eq_refl)). specialize (He u (or_introl eq_refl)).
    cbn [filter]. destruct (o (leg_in_round u)).
    - rewrite (Same eq_refl) at 1. rewrite Z2Nat.id by lia. rewrite Z.eqb_refl. cbn [map]. rewrite how_many_cons, (He eq_refl), Nat.eqb_refl.
      rewrite Z2Nat.id in IH by lia. lia.
    - destruct (begins (data u) =? Z.of_nat (Z.to_nat (begins (data t0)))); cbn [map]; rewrite ?how_many_cons; lia. }
  destruct link_or_not as [Eb|Eb]; rewrite Eb in Hgr; cbn [limits system_of] in Hgr.
  + assert (Fit : forall member cap, x = at_places j c member cap ->
        (Clauses.how_many (member_at j member (begins (data t0))) (round_uses sch) <= cap)%nat ->
        (Clauses.how_many o (map leg_in_round sch) <= capacity x)%nat).
    { intros member cap Ex Hc. rewrite Ex. cbn [at_places capacity]. eapply Nat.le_trans; [|exact Hc].
      replace (map leg_in_round sch) with (flat_map (fun t => [leg_in_round t]) sch) by (clear; induction sch; simpl; congruence).
      apply how_many_flat. intros u Hu. rewrite how_many_cons. change (Clauses.how_many o []) with O.
      destruct (o (leg_in_round u)) eqn:Fu; [|lia]. destruct (Now u Hu Fu) as [[p Hp] _]. rewrite Ex, Eb in Hp.
      cbn [at_places spans place_spans the_leg_arc over on_links leg_in_round] in Hp. apply in_flat_map in Hp. destruct Hp as [w [Hw Hp]].
      apply in_map_iff in Hw. destruct Hw as [i' [<- Hw]]. apply in_map_iff in Hw. destruct Hw as [i [<- Hi]].
      destruct (member (fst (bundle j i, (0, 1)))) eqn:M; [|destruct Hp]. cbn [fst] in M.
      apply (how_many_pos _ _ (i, Span (begins (data u)) 1)).
      - apply (in_map (fun i => (i, Span (begins (data u)) 1))), Hi.
      - unfold member_at. cbn [fst]. rewrite M, (Same u Hu Fu). unfold at_instant. cbn [snd first long].
        rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. repeat split; lia. }
    apply in_app_or in Hgr. destruct Hgr as [Hgr|Hgr]; apply in_map_iff in Hgr; destruct Hgr as [b [<- Hb]]; destruct Hx as [<-|[]].
    * apply (Fit (Nat.eqb b) (capacity (of_bundle j c b))); [rewrite Eb; reflexivity|]. apply bundles_fit, Eb.
    * apply (Fit (fun x => existsb (Nat.eqb x) (fst b)) (snd b)); [rewrite Eb; reflexivity|]. apply ports_fit; auto.
  + apply in_map_iff in Hgr. destruct Hgr as [v [<- _]]. destruct Hx as [<-|[<-|[]]]; cbn [of_rank capacity].
    * apply (Rank src v); [intros r; apply (once Eb)|]. intros u Hu Fu. destruct (Now u Hu Fu) as [[p Hp] _].
      cbn [of_rank spans the_leg_arc tail_of from_rank leg_in_round] in Hp. destruct (Nat.eqb_spec (src (tr (data u))) v); [auto|destruct Hp].
    * apply (Rank dst v); [intros r; apply (once Eb)|]. intros u Hu Fu. destruct (Now u Hu Fu) as [[p Hp] _].
      cbn [of_rank spans the_leg_arc head_of to_rank leg_in_round] in Hp. destruct (Nat.eqb_spec (dst (tr (data u))) v); [auto|destruct Hp].
Qed.
Hypothesis brought : brings j sch.
Hypothesis few : Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch))) <= h.
Hypothesis stepwise : n <> O -> falls_into n f sch.

(** The step of the last round up to an epoch. *)
Definition step_by (e : Z) : Z := latest moved f e sch.
Lemma begins_0 t : In t sch -> 0 <= begins (data t).
Proof. intros Ht. destruct (good t Ht) as [_ [_ [_ [A _]]]]. exact A. Qed.
Lemma step_by_own t : n <> O -> In t sch -> step_by (moved (begins (data t))) = f (begins (data t)).
Proof.
  intros N Ht. destruct (stepwise N) as [Up [B _]]. pose proof (begins_0 t Ht) as T0. pose proof (B _ T0).
  assert (step_by (moved (begins (data t))) <= f (begins (data t))); [|pose proof (latest_ge moved f _ sch t Ht (Z.le_refl _)); unfold step_by in *; lia].
  apply latest_le; [lia|]. intros u Hu Le. pose proof (begins_0 u Hu) as U0. apply Up. split; [exact U0|].
  destruct (Z_le_gt_dec (begins (data u)) (begins (data t))) as [|G]; [assumption|].
  pose proof (moved_next t Ht T0). pose proof (moved_later (begins (data t) + 1) (begins (data u)) ltac:(lia)). lia.
Qed.
Lemma step_by_stepped : n <> O -> (forall x y, 0 <= x <= y -> step_by x <= step_by y) /\ (forall x, 0 <= x -> 0 <= step_by x < Z.of_nat n).
Proof.
  intros N. destruct (stepwise N) as [_ [B _]]. split.
  - intros x y Hxy. apply latest_le; [apply latest_0|]. intros t Ht Le. apply latest_ge; auto. lia.
  - intros x _. pose proof (latest_0 moved f x sch). assert (step_by x <= Z.of_nat n - 1); [|unfold step_by in *; lia]. apply latest_le; [lia|].
    intros t Ht _. pose proof (B _ (begins_0 t Ht)). lia.
Qed.

Theorem rounds_plan : plan (system_of j c h n) step_by (map (move_of j c h n moved) (map leg_in_round sch)).
Proof.
  assert (W : forall t, In t sch -> 0 <= begins (data t) /\ ends (data t) = begins (data t) + 1) 
    by (intros t Ht; destruct (good t Ht) as [_ [_ [_ [A [B _]]]]]; auto).
  assert (Hs : forall t, In t sch -> 0 <= begins (data t) < ends (data t)) by (intros t Ht; specialize (W t Ht); lia).
  destruct brought as [Src Want].
  pose proof leg_known as Known. apply plan_of_legs; auto.
  - apply moved_later.
  - intros g Hg. unfold moved. cbn [ready_by]. lia.
  - intros g Hg. apply in_map_iff in Hg. destruct Hg as [t [<- Ht]]. cbn [leaves gets leg_in_round of_chunk delay_by].
    destruct (W t Ht) as [W0 ->]. rewrite <- moved_next by auto. split; [lia|].
    rewrite moved_next by auto. destruct (W t Ht) as [_ We]. rewrite <- We.
    eapply Z.le_trans; [apply moved_later, (ends_makespan sch t Ht)|]. exact few.
  - intros g Hg. apply in_map_iff in Hg. destruct Hg as [t [<- Ht]]. cbn [leg_in_round from_rank of_chunk leaves].
    destruct (Src t Ht) as [E|[t' [Ht' [E [Ek L]]]]]; [left; exact E|right]. exists (leg_in_round t'). split; [apply in_map, Ht'|].
    split; [exact Ek|]. split; [exact E|]. split; [exact L|]. intros N. cbn [leaves leg_in_round]. rewrite !step_by_own by auto.
    destruct (stepwise N) as [_ [_ St]]. apply St; auto.
  - apply step_by_stepped.
  - intros k v _ Hv Hn. destruct (Want k v Hv Hn) as [t [Ht [E1 E2]]]. exists (leg_in_round t). split; [apply in_map, Ht|auto].
  - apply rounds_fit.
Qed.
End InRounds.

(** What transfers of a right schedule keep busy fits. *)
Lemma fits_in_rounds j by_link sch : right_in_rounds j by_link sch ->
  (by_link = true -> forall b x, (Clauses.how_many (member_at j (Nat.eqb b) x) (round_uses sch) <= capacity (of_bundle j (Rounds by_link) b))%nat) /\
  (by_link = true -> forall p x, In p (ports j) ->
    (Clauses.how_many (member_at j (fun b => existsb (Nat.eqb b) (fst p)) x) (round_uses sch) <= snd p)%nat) /\
  (by_link = false -> forall r, NoDup (map src (round_of sch r)) /\ NoDup (map dst (round_of sch r))).
Proof.
  intros good. assert (Lu : forall u, In u (round_uses sch) -> (fst u < length (links j))%nat) by (intros u Hu; apply (round_uses_links j by_link sch (proj1 good) u Hu)).
  split; [|split].
  - intros _ b x. apply within_bundle; auto. apply good.
  - intros Eb p x Hp. apply within_port; auto. destruct good as [_ [_ [P _]]]. intros ls m Hl. apply P. cbn [ports ported]. rewrite Eb. exact Hl.
  - intros Eb r. rewrite Eb in good. split; [apply (sends_once j sch good)|apply (receives_once j sch good)].
Qed.

(** 10.1, in rounds: more than H rounds move something, or they do not fall into so few steps. *)
Theorem horizon_rounds_sound j by_link h n proof sch : positive j -> no_schedule j (Rounds by_link) h n proof = true -> right_in_rounds j by_link sch ->
  (n <> O -> exists f, falls_into n f sch) -> h + 1 <= Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch))).
Proof.
  intros Hp R Hr St. destruct (Z.le_gt_cases (Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch)))) h) as [L|]; [exfalso|lia].
  unfold no_schedule in R. rewrite !andb_true_iff in R. destruct R as [[R1 R2] R3].
  assert (St' : exists f, n <> O -> falls_into n f sch).
  { destruct n; [exists (fun _ => 0); congruence|]. destruct St as [f Hf]; [congruence|]. exists f. auto. }
  destruct St' as [f Hf]. destruct (fits_in_rounds j by_link sch Hr) as [F1 [F2 F3]].
  assert (B : brings j sch).
  { apply schedule_brings; auto; [apply Hr|]. intros t Ht. destruct (proj1 Hr t Ht) as [_ [_ [_ [A [E _]]]]]. lia. }
  apply (no_plan _ _ (properly_spec _ _ _ _ R2) proof R3 _ (rounds_plan j by_link h n f sch (proj1 Hr) F1 F2 F3 B L Hf)).
Qed.

(** ** The rules *)

Definition epochs_rule (j : job) (tau h : Z) (proof : list Lrat.line) (bound : Z) : bool :=
  (0 <? tau) && no_schedule j (Epochs tau) h 0 proof && (bound <=? (h + 1) * tau).
(** What is said of [n] > 0 steps bounds no time. *)
Definition take_after (j : job) (h : Z) (n : nat) : Z := match n with O => rounds_take j (Z.to_nat (h + 1)) | _ => 0 end.
Definition rounds_rule (j : job) (by_link : bool) (h : Z) (n : nat) (proof : list Lrat.line) (bound : Z) : bool :=
  no_schedule j (Rounds by_link) h n proof && (bound <=? take_after j h n).

Theorem epochs_rule_sound j tau h proof bound sch : positive j -> epochs_rule j tau h proof bound = true -> right j sch -> bound <= makespan sch.
Proof.
  unfold epochs_rule. intros Hp R Hr. rewrite !andb_true_iff, Z.ltb_lt, Z.leb_le in R. destruct R as [[Ht R] Hb].
  pose proof (epochs_sound j Hp tau h proof sch Ht R Hr). lia.
Qed.
(** Each round that moves something lasts as long as the least hop of the least chunk. *)
Lemma rounds_above j by_link h sch : positive j -> right_in_rounds j by_link sch ->
  h + 1 <= Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch))) -> rounds_take j (Z.to_nat (h + 1)) <= round_makespan j sch.
Proof.
  intros Hp Hr N.
  assert (W : forall t, In t sch -> round_well j false t).
  { intros t Ht. destruct (proj1 Hr t Ht) as [A [B [C [D [E _]]]]]. unfold round_well. repeat (split; [assumption|]). discriminate. }
  pose proof (rounds_last j sch Hp W (RoundTime.how_many sch) 0) as L. unfold round_makespan. cbn [rounds_end] in L. rewrite Nat.add_0_l in L.
  unfold rounds_take. pose proof (hop_0 j). nia.
Qed.
Lemma round_makespan_0 j by_link sch : positive j -> right_in_rounds j by_link sch -> 0 <= round_makespan j sch.
Proof.
  intros Hp Hr. apply Z.le_trans with (rounds_take j (Z.to_nat (-1 + 1))); [unfold rounds_take; simpl; lia|].
  apply (rounds_above j by_link (-1)); auto. lia.
Qed.
Theorem rounds_rule_sound j by_link h n proof bound sch : positive j -> rounds_rule j by_link h n proof bound = true ->
  right_in_rounds j by_link sch -> bound <= round_makespan j sch.
Proof.
  unfold rounds_rule. intros Hp R Hr. rewrite andb_true_iff, Z.leb_le in R. destruct R as [R Hb]. eapply Z.le_trans; [exact Hb|].
  destruct n as [|n]; cbn [take_after]; [|apply (round_makespan_0 j by_link); auto].
  apply (rounds_above j by_link); auto. apply (horizon_rounds_sound j by_link h 0 proof sch Hp R Hr). congruence.
Qed.
(** Of [n] > 0 steps: no right schedule in as few rounds falls into them. *)
Theorem steps_rule_sound j by_link h n proof bound sch f : positive j -> rounds_rule j by_link h n proof bound = true ->
  right_in_rounds j by_link sch -> Z.of_nat (rounds (rounds_from sch 0 (RoundTime.how_many sch))) <= h -> falls_into n f sch -> False.
Proof.
  unfold rounds_rule. intros Hp R Hr L St. rewrite andb_true_iff in R. destruct R as [R _].
  pose proof (horizon_rounds_sound j by_link h n proof sch Hp R Hr ltac:(eauto)). lia.
Qed.
