(** The rule lp-dual of package cert: links, ports and whatever else holds a limited number of
    chunks at a time have prices at some instants, and each demand, a contribution that a rank needs
    of a chunk, pays its share of what its chunk occupies then. If the cheapest ways that are in time
    cost more in all than there is to pay for, no schedule is in time. This is weak duality for the
    linear program of flows over time. *)
From Coq Require Import Bool List ZArith Lia.
From Oraccl Require Import Cut Round Timed Schedule Passing Bounds Replay InRounds Coverage Cover Prices RoundTime RoundsInTime.
Import ListNotations.
Open Scope Z_scope.

(** Prices at instants. *)
Definition tariff := list (Z * Z).
Definition inside (s : span) (x : Z) : bool := (first s <=? x) && (x <? first s + long s).
(** What occupies something for a span pays. *)
Definition costs (l : tariff) (s : span) : Z := sum (fun e => if inside s (fst e) then snd e else 0) l.
Definition at_instant (l : tariff) (x : Z) : Z := sum (fun e => if fst e =? x then snd e else 0) l.
Definition paying (l : tariff) : bool := forallb (fun e => 0 <=? snd e) l.

Lemma costs_0 l s : paying l = true -> 0 <= costs l s.
Proof.
  unfold paying. rewrite forallb_forall. intros H. apply sum_pos. intros e He. specialize (H e He).
  apply Z.leb_le in H. destruct (inside s (fst e)); lia.
Qed.
Lemma at_instant_0 l x : paying l = true -> 0 <= at_instant l x.
Proof.
  unfold paying. rewrite forallb_forall. intros H. apply sum_pos. intros e He. specialize (H e He).
  apply Z.leb_le in H. destruct (fst e =? x); lia.
Qed.
Lemma at_instant_none l x : ~ In x (map fst l) -> at_instant l x = 0.
Proof.
  intros H. apply sum_zero. intros e He. destruct (Z.eqb_spec (fst e) x) as [E|]; auto. exfalso. apply H, in_map_iff. eauto.
Qed.
Lemma one_of {A} (dec : forall a b : A, {a = b} + {a <> b}) (f : A -> Z) a ks : NoDup ks ->
  sum (fun k => if dec a k then f k else 0) ks = if in_dec dec a ks then f a else 0.
Proof.
  induction 1 as [|k ks Hk _ IH]; [reflexivity|].
  change (sum _ (k :: ks)) with ((if dec a k then f k else 0) + sum (fun k => if dec a k then f k else 0) ks). rewrite IH.
  destruct (dec a k) as [->|Hn], (in_dec dec _ ks) as [I|I], (in_dec dec _ (_ :: ks)) as [J|J]; simpl in J; try tauto; try lia.
  all: destruct J as [J|J]; [congruence|tauto].
Qed.
Lemma sum_plus {A} (f g : A -> Z) l : sum (fun x => f x + g x) l = sum f l + sum g l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [sum fold_right]. unfold sum in IH. rewrite IH. lia. Qed.
Lemma sum_flat {A B} (f : B -> Z) (g : A -> list B) l : sum f (flat_map g l) = sum (fun x => sum f (g x)) l.
Proof. induction l as [|x l IH]; [reflexivity|]. cbn [flat_map]. rewrite sum_app, IH. reflexivity. Qed.
(** By instant. *)
Lemma costs_by l s ks : NoDup ks -> incl (map fst l) ks -> costs l s = sum (fun x => if inside s x then at_instant l x else 0) ks.
Proof.
  intros N. unfold costs, at_instant. induction l as [|e l IH]; intros I.
  - symmetry. apply sum_zero. intros x _. destruct (inside s x); reflexivity.
  - cbn [sum fold_right]. fold (sum (fun e => if inside s (fst e) then snd e else 0) l).
    rewrite IH by (intros x Hx; apply I; right; auto).
    symmetry. transitivity (sum (fun x => (if Z.eq_dec (fst e) x then if inside s x then snd e else 0 else 0) +
      (if inside s x then sum (fun e => if fst e =? x then snd e else 0) l else 0)) ks).
    + apply sum_eq. intros x _. fold (sum (fun e => if fst e =? x then snd e else 0) l).
      destruct (Z.eq_dec (fst e) x) as [->|Hn]; [rewrite Z.eqb_refl|rewrite (proj2 (Z.eqb_neq _ _) Hn)]; destruct (inside s x); lia.
    + rewrite sum_plus, (one_of Z.eq_dec (fun x => if inside s x then snd e else 0) _ _ N).
      destruct (in_dec Z.eq_dec (fst e) ks) as [_|Hn]; [reflexivity|]. destruct Hn. apply I. left. reflexivity.
Qed.
(** No more at any instant, no more in any span. *)
Lemma costs_less a b s : paying b = true -> (forall x, In x (map fst a) -> at_instant a x <= at_instant b x) -> costs a s <= costs b s.
Proof.
  intros P H. set (ks := nodup Z.eq_dec (map fst a ++ map fst b)).
  assert (I : forall l, incl l (map fst a ++ map fst b) -> incl l ks) by (intros l Hl x Hx; apply nodup_In; auto).
  rewrite (costs_by a s ks), (costs_by b s ks); try apply NoDup_nodup; try (apply I; intros x Hx; apply in_or_app; auto).
  apply sum_le. intros x _. destruct (inside s x); [|lia]. destruct (in_dec Z.eq_dec x (map fst a)) as [Hx|Hx]; auto.
  rewrite at_instant_none by exact Hx. apply at_instant_0, P.
Qed.
Lemma costs_app a b s : costs (a ++ b) s = costs a s + costs b s.
Proof. apply sum_app. Qed.

(** What is for sale: at each instant these links, to no more than [places] at once, for a price. *)
Record good := Good { over_links : list nat; places : nat; asked : tariff }.

Section Job.
Variable j : job.
Hypothesis sane : positive j.
Notation at_link := (at_link j).
Variable goods : list good.
(** What a link costs: its own prices and those of its ports. *)
Definition price_of_link (i : nat) : tariff :=
  flat_map (fun g => if existsb (Nat.eqb i) (over_links g) then asked g else []) goods.
(** All that can be paid. *)
Definition supply : Z := sum (fun g => Z.of_nat (places g) * sum snd (asked g)) goods.
Hypothesis fair : forall g, In g goods -> paying (asked g) = true.

Lemma price_paying i : paying (price_of_link i) = true.
Proof.
  unfold paying, price_of_link. apply forallb_forall. intros e He. apply in_flat_map in He. destruct He as [g [Hg He]].
  destruct (existsb _ _); [|destruct He]. specialize (fair g Hg). unfold paying in fair. rewrite forallb_forall in fair. auto.
Qed.

(** All pay no more than that. *)
Lemma all_pay us : (forall g, In g goods -> forall x, (length (filter (uses_at (over_links g) x) us) <= places g)%nat) ->
  sum (fun a => costs (price_of_link (fst a)) (snd a)) us <= supply.
Proof.
  intros H. unfold supply.
  apply Z.le_trans with (sum (fun g => sum (fun e => snd e * Z.of_nat (length (filter (uses_at (over_links g) (fst e)) us))) (asked g)) goods).
  - rewrite (sum_eq _ (fun a => sum (fun g => if existsb (Nat.eqb (fst a)) (over_links g) then costs (asked g) (snd a) else 0) goods)).
    2:{ intros a _. unfold price_of_link. clear. induction goods as [|g gs IH]; [reflexivity|]. cbn [flat_map sum fold_right].
        rewrite costs_app, IH. unfold sum. destruct (existsb _ _); [lia|]. unfold costs, sum. simpl. lia. }
    rewrite sum_swap. apply sum_le. intros g Hg. apply Z.eq_le_incl.
    rewrite (sum_eq _ (fun a => sum (fun e => if existsb (Nat.eqb (fst a)) (over_links g) && inside (snd a) (fst e) then snd e else 0) (asked g))).
    2:{ intros a _. destruct (existsb _ _); [reflexivity|]. symmetry. apply sum_zero. auto. }
    rewrite sum_swap. apply sum_eq. intros e _. clear. induction us as [|a us IH]; [cbn; lia|]. cbn [sum fold_right filter].
    unfold sum in IH. rewrite IH.
    unfold uses_at, inside. destruct (existsb _ _); cbn [andb]; [|lia].
    destruct ((first (snd a) <=? fst e) && (fst e <? first (snd a) + long (snd a))); cbn [length]; lia.
  - apply sum_le. intros g Hg. rewrite <- sum_mul. apply sum_le. intros e He. specialize (H g Hg (fst e)). specialize (fair g Hg).
    unfold paying in fair. rewrite forallb_forall in fair. specialize (fair e He). apply Z.leb_le in fair. nia.
Qed.

(** ** What the ways of one demand cost *)

Section Demand.
Variable share : nat -> tariff. (* by link *)
Hypothesis share_paying : forall i, paying (share i) = true.
Variable b : Z.    (* bytes of the chunk *)
Hypothesis some_bytes : 0 <= b.
Variable T : Z.    (* no later *)
Variable big : Z.  (* more than can be paid *)

(** Costs that fall in steps: each from its time on. *)
Definition steps := list (Z * Z).
Definition cost_at (l : steps) (x : Z) : Z := fold_right (fun e m => if fst e <=? x then Z.min (snd e) m else m) big l.
Lemma cost_at_big l x : cost_at l x <= big.
Proof. induction l as [|e l IH]; cbn [cost_at fold_right]; [lia|]. fold (cost_at l x). destruct (fst e <=? x); lia. Qed.
Lemma cost_at_falls l x y : x <= y -> cost_at l y <= cost_at l x.
Proof.
  intros H. induction l as [|e l IH]; cbn [cost_at fold_right]; [lia|]. fold (cost_at l x) (cost_at l y).
  destruct (Z.leb_spec (fst e) x), (Z.leb_spec (fst e) y); lia.
Qed.
Lemma cost_at_still l x : ~ In (x + 1) (map fst l) -> cost_at l (x + 1) = cost_at l x.
Proof.
  induction l as [|e l IH]; cbn [map In cost_at fold_right]; [auto|]. intros H. fold (cost_at l x) (cost_at l (x + 1)). rewrite IH by tauto.
  destruct (Z.leb_spec (fst e) x), (Z.leb_spec (fst e) (x + 1)); auto; [lia|]. assert (fst e = x + 1) by lia. tauto.
Qed.

Definition lasts (h : list nat) : Z := latencies j h + slowest j b h.
Definition uses_from (h : list nat) (x : Z) : list use := along j (slowest j b h) x h.
Definition pays_from (h : list nat) (x : Z) : Z := sum (fun a => costs (share (fst a)) (snd a)) (uses_from h x).
(** The starts at which a hop pays less than a picosecond before. *)
Definition cheaper (h : list nat) : list Z :=
  flat_map (fun a => map (fun e => fst e - first (snd a) + 1) (share (fst a))) (uses_from h 0).
Definition due_at (v : nat) : Z := if is_rank j v then arrival j v else 0.
Definition earliest_of (u : nat) (h : list nat) : Z := Z.max 0 (Z.max (due_at u) (due_at (far j u h))).
Definition starts_of (from : steps) (u : nat) (h : list nat) : list Z :=
  earliest_of u h :: filter (Z.ltb (earliest_of u h)) (map fst from ++ cheaper h).
Definition hop_ok (table : list steps) (u : nat) (h : list nat) : bool :=
  let from := nth u table [] in let to := nth (far j u h) table [] in
  forallb (fun x => (T <? x + lasts h) || (cost_at to (x + lasts h) <=? cost_at from x + pays_from h x)) (starts_of from u h).

Lemma pays_0 us : 0 <= sum (fun a : use => costs (share (fst a)) (snd a)) us.
Proof. apply sum_pos. intros a _. apply costs_0, share_paying. Qed.

Lemma along_moves slow h : forall x d, along j slow (x + d) h = map (fun a => (fst a,
Span (first (snd a) + d) (long (snd a)))) (along j slow x h).
Proof.
  induction h as [|i h IH]; intros x d; [reflexivity|]. cbn [along map fst snd first long]. f_equal. rewrite <- IH. f_equal. lia.
Qed.
Lemma pays_next h x : ~ In (x + 1) (cheaper h) -> pays_from h x <= pays_from h (x + 1).
Proof.
  unfold pays_from, cheaper, uses_from. intros H. replace x with (0 + x) at 1 by lia. replace (x + 1) with (0 + (x + 1)) at 1 by lia.
  rewrite !along_moves, !sum_map. apply sum_le. intros a Ha. cbn [fst snd]. unfold costs. apply sum_le. intros e He.
  unfold inside. cbn [first long].
  pose proof (share_paying (fst a)) as P. unfold paying in P. rewrite forallb_forall in P. specialize (P e He). apply Z.leb_le in P.
  destruct (Z.leb_spec (first (snd a) + x) (fst e)), (Z.ltb_spec (fst e) (first (snd a) + x + long (snd a))); cbn [andb];
  try (destruct (_ && _); lia).
  destruct (Z.leb_spec (first (snd a) + (x + 1)) (fst e)).
  - rewrite (proj2 (Z.ltb_lt _ _)) by lia. simpl. lia.
  - exfalso. apply H. apply in_flat_map. exists a. split; [exact Ha|]. apply in_map_iff. exists e. split; [lia|exact He].
Qed.

Lemma hop_costs table u h x : hop_ok table u h = true -> earliest_of u h <= x -> x + lasts h <= T ->
  cost_at (nth (far j u h) table []) (x + lasts h) <= cost_at (nth u table []) x + pays_from h x.
Proof.
  unfold hop_ok. rewrite forallb_forall. intros H. set (to := nth (far j u h) table []). set (from := nth u table []) in *.
  assert (P : forall s, In s (starts_of from u h) -> s + lasts h <= T -> cost_at to (s + lasts h) <= cost_at from s + pays_from h s).
  { intros s Hs Ht. specialize (H s Hs). apply orb_true_iff in H. destruct H as [H|H]; [apply Z.ltb_lt in H; lia|apply Z.leb_le, H]. }
  intros Hx. set (s0 := earliest_of u h) in *. replace x with (s0 + (x - s0)) by lia. assert (Hd : 0 <= x - s0) by lia.
  generalize dependent (x - s0). clear x Hx.
  intros d Hd. pattern d. apply natlike_ind; [| |exact Hd].
  - intros Ht. rewrite Z.add_0_r in *. apply P; auto. left. reflexivity.
  - clear d Hd. intros d Hd IH Ht. replace (s0 + Z.succ d) with ((s0 + d) + 1) in * by lia. specialize (IH ltac:(lia)).
    destruct (in_dec Z.eq_dec (s0 + d + 1) (map fst from ++ cheaper h)) as [I|I].
    + apply P; auto. right. apply filter_In. split; auto. apply Z.ltb_lt. fold s0. lia.
    + rewrite in_app_iff in I. rewrite (cost_at_still from) by tauto. pose proof (pays_next h (s0 + d) ltac:(tauto)).
      pose proof (cost_at_falls to (s0 + d + lasts h) (s0 + d + 1 + lasts h) ltac:(lia)). lia.
Qed.

(** ** All hops *)

Definition outs (v : nat) : list nat := filter (fun i => (Cut.src (at_link i) =? v)%nat) (seq 0 (length (links j))).
Fixpoint all_of {A B} (f : A -> option (list B)) (l : list A) : option (list B) :=
  match l with
  | [] => Some []
  | x :: l => match f x, all_of f l with Some a, Some r => Some (a ++ r) | _, _ => None end
  end.
(** The ways from a node to the next ranks that visit no node twice; nothing if there are more than
    n links on one. *)
Fixpoint ways (n : nat) (v : nat) (seen : list nat) : option (list (list nat)) :=
  match n with
  | O => None
  | S n => all_of (fun i => let w := Cut.dst (at_link i) in
      if existsb (Nat.eqb w) seen then Some [] else if is_rank j w then Some [[i]]
      else option_map (map (cons i)) (ways n w (w :: seen))) (outs v)
  end.
Lemma all_of_in {A B} (f : A -> option (list B)) l : forall r x a y, all_of f l = Some r -> In x l -> f x = Some a -> In y a -> In y r.
Proof.
  induction l as [|z l IH]; intros r x a y H Hx Hf Hy; [destruct Hx|]. cbn [all_of] in H. destruct (f z) as [c|] eqn:E; [|discriminate].
  destruct (all_of f l) as [s|] eqn:E'; [|discriminate]. injection H as <-. apply in_or_app. destruct Hx as [->|Hx]; [|eauto].
  left. congruence.
Qed.
Lemma all_of_each {A B} (f : A -> option (list B)) l r x : all_of f l = Some r -> In x l -> exists a, f x = Some a.
Proof.
  revert r. induction l as [|z l IH]; intros r H Hx; [destruct Hx|]. cbn [all_of] in H. destruct (f z) as [c|] eqn:E; [|discriminate].
  destruct (all_of f l) as [s|] eqn:E'; [|discriminate]. destruct Hx as [->|Hx]; eauto.
Qed.
Lemma ways_all n : forall v seen r h w, ways n v seen = Some r -> h <> [] -> leads j v h w -> over_switches j h -> is_rank j (far j v h) = true ->
  NoDup (map (fun i => Cut.dst (at_link i)) h) -> (forall x, In x (map (fun i => Cut.dst (at_link i)) h) -> ~ In x seen) -> In h r.
Proof.
  induction n as [|n IH]; intros v seen r h w H Hh Hl Ho Hr Nd Hs; [discriminate|]. destruct h as [|i h]; [congruence|].
  destruct Hl as [Hi [Hsrc Hl]]. destruct Ho as [Ho Ho']. cbn [map] in Nd, Hs. apply NoDup_cons_iff in Nd.
  destruct Nd as [Ni Nd]. cbn [ways] in H.
  assert (I : In i (outs v)) by (apply filter_In; split; [apply in_seq; lia|apply Nat.eqb_eq, Hsrc]).
  destruct (all_of_each _ _ _ _ H I) as [a Ha]. apply (all_of_in _ _ _ _ _ _ H I Ha). revert Ha.
  assert (E : existsb (Nat.eqb (Cut.dst (at_link i))) seen = false).
  { apply not_true_iff_false. rewrite existsb_exists. intros [x [Hx Ex]]. apply Nat.eqb_eq in Ex. subst x.
  apply (Hs _ (or_introl eq_refl) Hx). }
  cbv zeta. rewrite E. destruct Ho as [->|Ho].
  - cbn [far] in Hr. rewrite Hr. intros [= <-]. left. reflexivity.
  - rewrite Ho. destruct h as [|i' h]; [cbn [far] in Hr; congruence|].
    destruct (ways n (Cut.dst (at_link i)) (Cut.dst (at_link i) :: seen)) as [r'|] eqn:W; [|discriminate]. intros [= <-]. apply in_map.
    apply (IH _ _ _ (i' :: h) w W); auto; [discriminate|]. intros x Hx [<-|Hin]; [contradiction|]. apply (Hs x (or_intror Hx) Hin).
Qed.

(** By rank the hops that leave it. *)
Definition find_hops : option (list (list (list nat))) :=
  all_of (fun u => option_map (fun r => [r]) (ways (size_of_net j) u [u])) (seq 0 (nodes j)).
Lemma find_hops_ways hs : find_hops = Some hs -> forall u, (u < nodes j)%nat -> ways (size_of_net j) u [u] = Some (nth u hs []).
Proof.
  unfold find_hops. assert (G : forall l k hs, all_of (fun u => option_map (fun r => [r]) (ways (size_of_net j) u [u])) (seq k l) = Some hs ->
    forall u, (u < l)%nat -> ways (size_of_net j) (k + u) [(k + u)%nat] = Some (nth u hs [])).
  { induction l as [|l IH]; intros k hs' H u Hu; [lia|]. cbn [seq all_of] in H.
  destruct (ways (size_of_net j) k [k]) as [r|] eqn:W; [|discriminate].
    cbn [option_map] in H. destruct (all_of _ (seq (S k) l)) as [s|] eqn:E; [|discriminate]. injection H as <-. destruct u as [|u].
    - rewrite Nat.add_0_r. exact W.
    - replace (k + S u)%nat with (S k + u)%nat by lia. apply (IH _ _ E). lia. }
  intros H u Hu. apply (G _ 0%nat _ H u Hu).
Qed.

Variable hs : list (list (list nat)).
Hypothesis hs_all : find_hops = Some hs.

Definition table_ok (table : list steps) (holders : list nat) : bool :=
  forallb (fun u => cost_at (nth u table []) 0 <=? 0) holders &&
  forallb (fun u => forallb (hop_ok table u) (nth u hs [])) (seq 0 (nodes j)).

(** ** What a chunk has paid of a demand's share *)

Variable sch : list sent.
Hypothesis good_sch : right j sch.
Variable k : nat.
Hypothesis b_of_k : size j k = b.
Definition toll (t : sent) : Z := sum (fun a => costs (share (fst a)) (snd a)) (uses_of j t).
Definition spent (x : Z) : Z := sum toll (filter (fun t => (what (tr (data t)) =? k)%nat && (ends (data t) <=? x)) sch).

Lemma toll_0 t : 0 <= toll t.
Proof. apply pays_0. Qed.
Lemma spent_more x y : x <= y -> spent x <= spent y.
Proof.
  intros H. unfold spent. rewrite !sum_filter. apply sum_le. intros t _. pose proof (toll_0 t).
  destruct (what (tr (data t)) =? k)%nat; simpl; [|lia]. destruct (Z.leb_spec (ends (data t)) x), (Z.leb_spec (ends (data t)) y); lia.
Qed.
Lemma spent_step t x : In t sch -> what (tr (data t)) = k -> begins (data t) < ends (data t) -> ends (data t) <= x ->
  spent (begins (data t)) + toll t <= spent x.
Proof.
  intros Hin Hk Hb He. apply Z.le_trans with (spent (ends (data t))); [|apply spent_more; lia].
  unfold spent. rewrite !sum_filter. revert Hin. generalize sch as l. induction l as [|s l IH]; simpl; [tauto|].
  assert (M : forall l', sum (fun x => if (what (tr (data x)) =? k)%nat && (ends (data x) <=? begins (data t)) then toll x else 0) l' <=
     sum (fun x => if (what (tr (data x)) =? k)%nat && (ends (data x) <=? ends (data t)) then toll x else 0) l').
  { intros l'. apply sum_le. intros y _. pose proof (toll_0 y). destruct (what (tr (data y)) =? k)%nat; simpl; [|lia].
    destruct (Z.leb_spec (ends (data y)) (begins (data t))), (Z.leb_spec (ends (data y)) (ends (data t))); lia. }
  intros [->|H].
  - rewrite Hk, Nat.eqb_refl. rewrite (proj2 (Z.leb_gt (ends (data t)) (begins (data t)))) by lia. rewrite Z.leb_refl. simpl.
    specialize (M l). lia.
  - specialize (IH H). pose proof (toll_0 s). destruct (what (tr (data s)) =? k)%nat; simpl; [|lia].
    destruct (Z.leb_spec (ends (data s)) (begins (data t))), (Z.leb_spec (ends (data s)) (ends (data t))); lia.
Qed.

Lemma hops_cost table : (forall u, (u < nodes j)%nat -> forallb (hop_ok table u) (nth u hs []) = true) ->
  forall hops from u v, leads j u (concat hops) v -> (forall h, In h hops -> h <> [] /\ over_switches j h /\ forall w,
  is_rank j (far j w h) = true) ->
  is_rank j u = true -> NoDup (visited j u (concat hops)) -> 0 <= from ->
  (forall w, In w (visited j u (concat hops)) -> is_rank j w = true -> arrival j w <= from) -> from + lasting j b hops <= T ->
  cost_at (nth v table []) (from + lasting j b hops) <= cost_at (nth u table []) from + sum (fun a => costs (share (fst a)) (snd a)) (busy_hops j b from hops).
Proof.
  intros Ok. induction hops as [|h hops IH]; intros from u v Hl Hh Hu Nd F0 Ha Ht.
  - simpl in Hl. subst v. unfold lasting. cbn. rewrite Z.add_0_r. lia.
  - cbn [concat] in Hl. destruct (leads_app j _ _ _ _ Hl) as [w [L1 L2]]. destruct (Hh h (or_introl eq_refl)) as [H1 [H2 H3]].
    pose proof (leads_far j _ _ _ L1) as Ew. specialize (H3 u). pose proof (proj1 (Nat.ltb_lt _ _) Hu) as Hu'.
    unfold visited in Nd. cbn [concat] in Nd. rewrite map_app in Nd. apply NoDup_cons_iff in Nd. destruct Nd as [Nu Nd].
    assert (V : forall x, In x (map (fun i => Cut.dst (at_link i)) h) -> In x (visited j u (concat (h :: hops)))).
    { intros x Hx. right. cbn [concat]. rewrite map_app. apply in_or_app. auto. }
    assert (Wd : In w (map (fun i => Cut.dst (at_link i)) h)).
    { rewrite <- Ew. clear - H1. revert u. induction h as [|i h IHh]; intros u; [congruence|]. cbn [far map].
    destruct h as [|i' h]; [left; auto|].
      right. apply IHh. discriminate. }
    assert (Nh : NoDup (map (fun i => Cut.dst (at_link i)) h)).
    { clear - Nd. induction (map (fun i => Cut.dst (at_link i)) h) as [|x l IHl]; [constructor|]. cbn [app] in Nd.
    apply NoDup_cons_iff in Nd.
      destruct Nd as [A B]. constructor; auto. intros Hx. apply A, in_or_app. auto. }
    assert (In h (nth u hs [])).
    { apply (ways_all _ _ _ _ _ w (find_hops_ways hs hs_all u Hu')); auto. intros x Hx [<-|[]]. apply Nu, in_or_app. auto. }
    specialize (Ok u Hu'). pose proof Ok as Ok'. rewrite forallb_forall in Ok'. specialize (Ok' h H).
    unfold lasting in *. cbn [sum fold_right] in *. fold (sum (fun h => latencies j h + slowest j b h) hops) in *.
    assert (L0 : 0 <= sum (fun h => latencies j h + slowest j b h) hops) by apply (lasting_0 j sane b hops).
    pose proof (latencies_0 j sane h) as La. pose proof (slowest_0 j b h) as Sl.
    assert (E : earliest_of u h <= from).
    { unfold earliest_of, due_at. rewrite Ew in *. rewrite Hu, H3. pose proof (Ha u (or_introl eq_refl) Hu).
    pose proof (Ha w (V w Wd) H3). lia. }
    pose proof (hop_costs table u h from Ok' E) as C. unfold lasts in C. specialize (C ltac:(lia)). rewrite Ew in C, H3.
    assert (Nw : NoDup (visited j w (concat hops))).
    { unfold visited. clear - Nd Wd. apply NoDup_cons_iff. split.
      - intros Hx. apply in_split in Wd. destruct Wd as [l1 [l2 E]]. rewrite E in Nd. rewrite <- app_assoc in Nd. cbn [app] in Nd.
        apply NoDup_remove_2 in Nd. apply Nd. rewrite !in_app_iff. auto.
      - clear - Nd. induction (map (fun i => Cut.dst (at_link i)) h) as [|x l IHl]; auto. inversion Nd; auto. }
    specialize (IH (from + (latencies j h + slowest j b h)) w v L2 (fun h' H' => Hh h' (or_intror H')) H3 Nw ltac:(lia)).
    replace (from + (latencies j h + slowest j b h + sum (fun h => latencies j h + slowest j b h) hops))
      with (from + (latencies j h + slowest j b h) + sum (fun h => latencies j h + slowest j b h) hops) by lia.
    cbn [busy_hops]. rewrite sum_app. fold (uses_from h from). fold (pays_from h from).
    enough (cost_at (nth v table []) (from + (latencies j h + slowest j b h) + sum (fun h => latencies j h + slowest j b h) hops) <=
      cost_at (nth w table []) (from + (latencies j h + slowest j b h)) +
      sum (fun a => costs (share (fst a)) (snd a)) (busy_hops j b (from + (latencies j h + slowest j b h)) hops)) by lia.
    apply IH; [|lia]. intros x Hx Rx. apply Z.le_trans with from; [|lia]. apply Ha; auto. destruct Hx as [<-|Hx]; [apply V, Wd|].
    right. cbn [concat]. rewrite map_app. apply in_or_app. auto.
Qed.

Lemma demand_pays table c holders v x : table_ok table holders = true ->
  (forall u w, In ((u, k), w) (pre j) -> contains w c -> In u holders) -> x <= T ->
  holds j (map data sch) c v k x -> cost_at (nth v table []) x <= spent x.
Proof.
  intros Hok Hst Hx H. apply andb_true_iff in Hok. destruct Hok as [Ok0 Ok]. rewrite forallb_forall in Ok0, Ok.
  assert (Ok' : forall u, (u < nodes j)%nat -> forallb (hop_ok table u) (nth u hs []) = true) by (intros u Hu; apply Ok, in_seq; lia).
  remember k as k' eqn:E in H. induction H as [v k' x w Hl Hc Hx0|t x Ht H0 IH He].
  - subst k'. apply lookup_In in Hl. specialize (Ok0 v (Hst _ _ Hl Hc)). apply Z.leb_le in Ok0.
    pose proof (cost_at_falls (nth v table []) 0 x Hx0).
    assert (0 <= spent x) by (apply sum_pos; intros t _; apply toll_0). lia.
  - apply in_map_iff in Ht. destruct Ht as [s [<- Hs]]. destruct (proj1 good_sch s Hs) as [[_ [Su [Sv _]]] [Hl [Nd [Hb [Hd Ha]]]]].
    specialize (IH ltac:(lia) E). apply Nat.ltb_lt in Su, Sv.
    pose proof (hops_cost table Ok' (hops j (route s)) (begins (data s)) _ _ ltac:(rewrite concat_hops; exact Hl)
      (hops_shape j _ _ _ Hl Sv) Su ltac:(rewrite concat_hops; exact Nd) ltac:(lia)) as P. rewrite concat_hops in P.
    specialize (P (fun w Hw Rw => Ha w Hw Rw)). rewrite E, b_of_k in Hd. unfold lasting in P. unfold duration in Hd.
    rewrite <- Hd in P. specialize (P ltac:(lia)).
    pose proof (spent_step s x Hs E ltac:(lia) He) as Q.
    replace (sum (fun a => costs (share (fst a)) (snd a)) (busy_hops j b (begins (data s)) (hops j (route s)))) with (toll s) in P
      by (unfold toll, uses_of; rewrite E, b_of_k; reflexivity).
    pose proof (cost_at_falls (nth (dst (tr (data s))) table []) (ends (data s)) x He). lia.
Qed.
End Demand.

(** ** Tables, found by relaxation *)

Section Find.
Variable share : nat -> tariff.
Variables b T big : Z.
(** Found by relaxation, which has no proof: [table_ok] looks at what it yields. *)
Fixpoint add_step (t c : Z) (l : steps) : steps :=
  match l with
  | [] => [(t, c)]
  | e :: l => if (fst e <=? t) && (snd e <=? c) then e :: l
              else if fst e <? t then e :: add_step t c l
              else (t, c) :: filter (fun e => snd e <? c) (e :: l)
  end.
Fixpoint update {A} (l : list A) (v : nat) (f : A -> A) : list A :=
  match l, v with [], _ => [] | x :: l, O => f x :: l | x :: l, S v => x :: update l v f end.
Definition relax_hop (u : nat) (table : list steps) (h : list nat) : list steps :=
  let from := nth u table [] in let v := far j u h in
  fold_left (fun table x =>
    let t := x + lasts b h in let c := cost_at big from x + pays_from share b h x in
    if (t <=? T) && (c <? cost_at big (nth v table []) t) then update table v (add_step t c) else table) (starts_of share b from u h) table.
Fixpoint same_steps (a b : steps) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => (fst x =? fst y) && (snd x =? snd y) && same_steps a b | _, _ => false end.
Fixpoint same_tables (a b : list steps) : bool :=
  match a, b with [], [] => true | x :: a, y :: b => same_steps x y && same_tables a b | _, _ => false end.
Definition find_table (hs : list (list (list nat))) (holders : list nat) : list steps :=
  until_still same_tables
    (fun table => fold_left (fun table u => fold_left (relax_hop u) (nth u hs []) table) (seq 0 (nodes j)) table) (S (nodes j))
    (fold_left (fun table u => update table u (add_step 0 0)) holders (repeat [] (nodes j))).
End Find.

(** ** The rule *)

(** A contribution that a rank needs of each chunk of a group, and its share by link; and the group. *)
Record demand := Demand { source : nat; dest : nat; shares : list tariff }.
Record group := Group { group_chunks : list nat; group_demands : list demand }.
Definition share_of (d : demand) (i : nat) : tariff := nth i (shares d) [].

Definition holders_of_chunk (k c : nat) : list nat :=
  map (fun e => fst (fst e)) (filter (fun e => containsb (snd e) c) (said_of k (pre j))).
Definition needed (k : nat) (d : demand) : bool :=
  existsb (fun e => (fst (fst e) =? dest d)%nat && containsb (snd e) (source d)) (said_of k (post j)).
Definition least_cost (hs : list (list (list nat))) (T : Z) (d : demand) (of : Z * list nat) : Z :=
  let big := supply + 1 in
  let table := find_table (share_of d) (fst of) T big hs (snd of) in
  if table_ok (share_of d) (fst of) T big hs table (snd of) then cost_at big (nth (dest d) table []) T else 0.
(** Chunks of one size with the same holders have the same ways. *)
Definition of_chunk_dec (a b : Z * list nat) : {a = b} + {a <> b}.
Proof. repeat decide equality. Defined.
Definition look {A B} (dec : forall a b : A, {a = b} + {a <> b}) (f : A -> B) (known : list (A * B)) (a : A) : B :=
  match find (fun e => if dec (fst e) a then true else false) known with Some e => snd e | None => f a end.
Definition of_chunk (d : demand) (k : nat) : Z * list nat := (size j k, holders_of_chunk k (source d)).
Definition demand_costs (hs : list (list (list nat))) (T : Z) (ks : list nat) (d : demand) : Z :=
  let known := map (fun a => (a, least_cost hs T d a)) (nodup of_chunk_dec (map (of_chunk d) ks)) in
  sum (fun k => if needed k d then look of_chunk_dec (least_cost hs T d) known (of_chunk d k) else 0) ks.
Definition shared_out (g : group) : bool :=
  forallb (fun i => let all := flat_map (fun d => share_of d i) (group_demands g) in let price := price_of_link i in
    paying all && forallb (fun e => at_instant all (fst e) <=? at_instant price (fst e)) all) (seq 0 (length (links j))).
Fixpoint once (l : list nat) : bool := match l with [] => true | x :: l => negb (existsb (Nat.eqb x) l) && once l end.
(** The demands cost more than there is, even if all is done by T. *)
Definition short_of (groups : list group) (T : Z) : bool :=
  match find_hops with
  | None => false
  | Some hs =>
      forallb (fun g => paying (asked g)) goods && forallb shared_out groups && once (flat_map group_chunks groups) &&
      forallb (fun g => forallb (fun d => (length (shares d) <=? length (links j))%nat) (group_demands g)) groups &&
      (supply <? sum (fun g => sum (demand_costs hs T (group_chunks g)) (group_demands g)) groups)
  end.
End Job.

Lemma look_is {A B} (dec : forall a b : A, {a = b} + {a <> b}) (f : A -> B) l a : look dec f (map (fun a => (a, f a)) l) a = f a.
Proof.
  unfold look. destruct (find _ _) as [e|] eqn:E; [|reflexivity]. apply find_some in E. destruct E as [I E].
  apply in_map_iff in I. destruct I as [x [<- _]]. cbn [fst snd] in *. destruct (dec x a); [subst; reflexivity|discriminate].
Qed.
Lemma once_NoDup l : once l = true -> NoDup l.
Proof.
  induction l as [|x l IH]; cbn [once]; [constructor|]. rewrite andb_true_iff, negb_true_iff. intros [A B]. constructor; auto.
  intros Hx. assert (existsb (Nat.eqb x) l = true); [|congruence]. apply existsb_exists. exists x. rewrite Nat.eqb_refl. auto.
Qed.

Theorem short_sound j goods groups T sch : positive j -> right j sch -> makespan sch <= T ->
  (forall g, In g goods -> forall x, (length (filter (uses_at (over_links g) x) (uses j sch)) <= places g)%nat) ->
  short_of j goods groups T = false.
Proof.
  intros Hp Hr HT Sold. apply not_true_iff_false. unfold short_of. destruct (find_hops j) as [hs|] eqn:Eh; [|discriminate]. intros H.
  apply andb_true_iff in H. destruct H as [H Lt]. apply andb_true_iff in H. destruct H as [H Len]. apply andb_true_iff in H.
  destruct H as [H On].
  apply andb_true_iff in H. destruct H as [Fair Sh]. rewrite forallb_forall in Fair, Sh, Len. apply Z.ltb_lt in Lt. apply once_NoDup in On.
  enough (sum (fun g => sum (demand_costs j goods hs T (group_chunks g)) (group_demands g)) groups <= supply goods) by lia. clear Lt.
  eapply Z.le_trans; [|apply (all_pay goods Fair (uses j sch) Sold)].
  set (W := fun t : sent => sum (fun a => costs (price_of_link goods (fst a)) (snd a)) (uses_of j t)).
  assert (W0 : forall t, 0 <= W t) by (intros t; apply sum_pos; intros a _; apply costs_0, price_paying, Fair).
  (* what the demands of a group pay for a chunk *)
  assert (Chunk : forall g, In g groups -> forall k, sum (fun d => if needed j k d then least_cost j goods hs T d (of_chunk j d k) else 0) (group_demands g) <=
    sum W (filter (fun t => (what (tr (data t)) =? k)%nat) sch)).
  { intros g Hg k. specialize (Sh g Hg). unfold shared_out in Sh. rewrite forallb_forall in Sh. specialize (Len g Hg).
  rewrite forallb_forall in Len.
    assert (Shr : forall i, paying (flat_map (fun d => share_of d i) (group_demands g)) = true /\
      forall s, costs (flat_map (fun d => share_of d i) (group_demands g)) s <= costs (price_of_link goods i) s).
    { intros i. destruct (Nat.lt_ge_cases i (length (links j))) as [Hi|Hi].
      - specialize (Sh i ltac:(apply in_seq; lia)). apply andb_true_iff in Sh. destruct Sh as [A B]. split; auto. intros s.
        apply costs_less; [apply price_paying, Fair|].
        rewrite forallb_forall in B. intros x Hx. apply in_map_iff in Hx. destruct Hx as [e [<- He]]. apply Z.leb_le, B, He.
      - replace (flat_map (fun d => share_of d i) (group_demands g)) with (@nil (Z * Z)).
        + split; [reflexivity|]. intros s. apply (costs_0 _ _ (price_paying goods Fair i)).
        + clear - Len Hi. induction (group_demands g) as [|d ds IH]; [reflexivity|]. cbn [flat_map].
          rewrite <- IH by (intros x Hx; apply Len; right; auto).
          specialize (Len d (or_introl eq_refl)). apply Nat.leb_le in Len. unfold share_of. rewrite nth_overflow by lia. reflexivity. }
    apply Z.le_trans with (sum (fun d => sum (toll j (share_of d)) (filter (fun t => (what (tr (data t)) =? k)%nat) sch)) (group_demands g)).
    - apply sum_le. intros d Hd.
      assert (Pd : forall i, paying (share_of d i) = true).
      { intros i. destruct (Shr i) as [A _]. unfold paying in *. rewrite forallb_forall in *. intros e He. apply A.
      apply in_flat_map. eauto. }
      assert (T0 : 0 <= sum (toll j (share_of d)) (filter (fun t => (what (tr (data t)) =? k)%nat) sch)) by (apply sum_pos;
      intros t _; apply toll_0, Pd).
      destruct (needed j k d) eqn:En; [|exact T0]. unfold least_cost, of_chunk. cbn [fst snd].
      set (table := find_table j (share_of d) (size j k) T (supply goods + 1) hs (holders_of_chunk j k (source d))).
      destruct (table_ok _ _ _ _ _ _ _ _) eqn:Ok; [|exact T0].
      unfold needed in En. apply existsb_exists in En. destruct En as [[[v k'] w] [Hin En]]. apply filter_In in Hin.
      destruct Hin as [Hin Ek].
      cbn [fst snd] in *. apply Nat.eqb_eq in Ek. subst k'. apply andb_true_iff in En. destruct En as [Ev Ec].
      apply Nat.eqb_eq in Ev. subst v.
      apply Nat.ltb_lt in Ec. pose proof (right_holds j sch _ _ _ _ Hr Hin Ec) as Hh. apply (holds_later _ _ _ _ _ _ T) in Hh; [|exact HT].
      pose proof (demand_pays j Hp (share_of d) Pd (size j k) T (supply goods + 1) hs Eh sch Hr k eq_refl table (source d) _ (dest d) T Ok) as P.
      eapply Z.le_trans; [apply P; auto; [|lia]|].
      + intros u x Hx Hc. unfold holders_of_chunk. apply in_map_iff. exists ((u, k), x). split; [reflexivity|]. apply filter_In. split.
        * apply filter_In. split; auto. apply Nat.eqb_refl.
        * apply Nat.ltb_lt, Hc.
      + unfold spent. rewrite !sum_filter. apply sum_le. intros t _. pose proof (toll_0 j (share_of d) Pd t).
        destruct (what (tr (data t)) =? k)%nat; simpl; [|lia]. destruct (_ <=? _); lia.
    - rewrite sum_swap. apply sum_le. intros t _. unfold W, toll. rewrite sum_swap. apply sum_le. intros a _.
      destruct (Shr (fst a)) as [_ C].
      eapply Z.le_trans; [|apply (C (snd a))]. clear. induction (group_demands g) as [|d ds IH]; [cbn; lia|].
      cbn [flat_map sum fold_right]. rewrite costs_app. unfold sum in IH. lia. }
  apply Z.le_trans with (sum (fun g => sum (fun k => sum W (filter (fun t => (what (tr (data t)) =? k)%nat) sch)) (group_chunks g)) groups).
  - apply sum_le. intros g Hg. unfold demand_costs. rewrite sum_swap. apply sum_le. intros k _.
    eapply Z.le_trans; [|apply (Chunk g Hg k)]. apply sum_le. intros d _. destruct (needed j k d); [|lia]. rewrite look_is. lia.
  - replace (sum (fun a => costs (price_of_link goods (fst a)) (snd a)) (uses j sch)) with (sum W sch).
    2:{ symmetry. apply sum_flat. }
    replace (sum (fun g => sum (fun k => sum W (filter (fun t => (what (tr (data t)) =? k)%nat) sch)) (group_chunks g)) groups)
      with (sum (fun k => sum W (filter (fun t => (what (tr (data t)) =? k)%nat) sch)) (flat_map group_chunks groups)).
    2:{ apply sum_flat. }
    rewrite (sum_eq _ (fun k => sum (fun t => if Nat.eq_dec (what (tr (data t))) k then W t else 0) sch)).
    2:{ intros k _. rewrite sum_filter. apply sum_eq. intros t _. destruct (Nat.eqb_spec (what (tr (data t))) k),
    (Nat.eq_dec (what (tr (data t))) k); congruence. }
    rewrite sum_swap. apply sum_le. intros t _.
    rewrite (one_of Nat.eq_dec (fun _ => W t) (what (tr (data t))) _ On). specialize (W0 t). destruct (in_dec _ _ _); lia.
Qed.

(** Prices of links and of ports. *)
Definition sold (j : job) (of_links of_ports : list (nat * tariff)) : list good :=
  map (fun e => Good [fst e] 1 (snd e)) of_links ++
  map (fun e => let port := nth (fst e) (ports j) ([], 0%nat) in Good (fst port) (snd port) (snd e)) of_ports.
Lemma at_most_one i x us : disjoint us -> (length (filter (uses_at [i] x) us) <= 1)%nat.
Proof.
  induction us as [|a us IH]; intros D; [cbn; lia|]. inversion D as [|? ? Da Dr]; subst. specialize (IH Dr). cbn [filter].
  destruct (uses_at [i] x a) eqn:E; [|exact IH]. cbn [length]. replace (filter (uses_at [i] x) us) with (@nil use); [cbn;
  lia|]. clear IH Dr D.
  rewrite Forall_forall in Da. induction us as [|c us IH]; [reflexivity|]. cbn [filter].
  rewrite <- IH by (intros y Hy; apply Da; right; auto).
  destruct (uses_at [i] x c) eqn:E'; [|reflexivity]. exfalso. specialize (Da c (or_introl eq_refl)). unfold uses_at in E, E'.
  rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt in E, E'. cbn [existsb] in E, E'. rewrite orb_false_r, Nat.eqb_eq in E, E'.
  unfold apart in Da. intuition lia.
Qed.
Lemma sold_holds j sch of_links of_ports : right j sch ->
  forall g, In g (sold j of_links of_ports) -> forall x, (length (filter (uses_at (over_links g) x) (uses j sch)) <= places g)%nat.
Proof.
  intros [_ [D [P _]]] g Hg x. apply in_app_or in Hg. destruct Hg as [Hg|Hg]; apply in_map_iff in Hg;
  destruct Hg as [e [<- _]]; cbn [over_links places].
  - apply at_most_one, D.
  - destruct (nth_in_or_default (fst e) (ports j) ([], 0%nat)) as [I| ->].
    + destruct (nth (fst e) (ports j) ([], 0%nat)) as [ls c]. apply (P ls c I).
    + cbn [fst snd]. replace (filter (uses_at [] x) (uses j sch)) with (@nil use); [cbn; lia|]. symmetry. clear.
      induction (uses j sch) as [|a us IH]; [reflexivity|exact IH].
Qed.

Definition dual_rule (j : job) (of_links of_ports : list (nat * tariff)) (groups : list group) (bound : Z) : bool :=
  short_of j (sold j of_links of_ports) groups (bound - 1).
Theorem dual_sound j of_links of_ports groups bound sch : positive j ->
  dual_rule j of_links of_ports groups bound = true -> right j sch -> bound <= makespan sch.
Proof.
  intros Hp H Hr. apply Z.nlt_ge. intros Lt. unfold dual_rule in H.
  pose proof (short_sound j _ groups (bound - 1) sch Hp Hr ltac:(lia) (sold_holds j sch of_links of_ports Hr)). congruence.
Qed.

(** Under rounds that a rank sends once and receives once are ports, too, and have prices. *)
Notation with_rank_ports j := (ported j false).
Lemma right_with_rank_ports j sch : right_in_rounds j false sch -> right_in_rounds (with_rank_ports j) false sch.
Proof.
  intros [W [D [P E]]]. split; [exact W|]. split; [exact D|]. split; [|exact E].
  intros ls c Hin. apply (P ls c). cbn [ported ports] in *. rewrite !in_app_iff in *. tauto.
Qed.
Corollary dual_in_rounds j of_links of_ports groups bound sch : positive j -> model j = Blocking -> full_sizes j = true ->
  dual_rule (with_rank_ports j) of_links of_ports groups bound = true -> right_in_rounds j false sch -> bound <= round_makespan j sch.
Proof.
  intros Hp Hm Hf H Hr. change (round_makespan j sch) with (round_makespan (with_rank_ports j) sch).
  apply (bound_in_rounds (with_rank_ports j) bound); auto using right_with_rank_ports.
  intros s Hs. apply (dual_sound (with_rank_ports j) of_links of_ports groups bound s); auto.
Qed.
